package client

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/wire/ftp"
)

// hashWait is how long a server may take to hash a file: a terabyte at a
// gigabyte a second, and some more.
const hashWait = 30 * time.Minute

// Checksum is a hash that a server computed.
type Checksum struct {
	Algorithm string // as HASH names it: "SHA-256"
	Sum       string // lower-case hexadecimal
}

// algorithm is a hash and the ways to ask for it.
type algorithm struct {
	name    string // of HASH, draft-bryan-ftpext-hash
	command string // before HASH there was one command for each
	new     func() hash.Hash
}

// algorithms lists what we can compute, the best first.
func algorithms() []algorithm {
	return []algorithm{
		{"SHA-256", "XSHA256", sha256.New},
		{"SHA-512", "XSHA512", sha512.New},
		{"SHA-1", "XSHA1", sha1.New},
		{"MD5", "XMD5", md5.New},
		{"CRC32", "XCRC", func() hash.Hash { return crc32.NewIEEE() }},
	}
}

// NewHash returns the hash of an algorithm that Hash answered with.
func NewHash(name string) (hash.Hash, error) {
	for _, a := range algorithms() {
		if a.name == name {
			return a.new(), nil
		}
	}
	return nil, fmt.Errorf("hash %s: %w", name, errors.ErrUnsupported)
}

// Hash has the server hash a whole file, with the best algorithm that both
// know. The error wraps errors.ErrUnsupported where there is none.
func (c *Conn) Hash(ctx context.Context, name string) (Checksum, error) {
	for _, a := range algorithms() {
		verb, offered := a.command, c.Has(a.command)
		if strings.Contains(c.features["HASH"], a.name) {
			if _, err := c.do(ctx, "OPTS", "HASH "+a.name); err == nil {
				verb, offered = "HASH", true
			} else if c.broken != nil {
				return Checksum{}, err
			}
		}
		if !offered {
			continue
		}
		cmd := ftp.Command{Verb: verb, Arg: name}
		if err := c.send(ctx, cmd); err != nil {
			return Checksum{}, err
		}
		r, err := c.finish(ctx, cmd, hashWait)
		if err == nil && !r.Completion() {
			err = fmt.Errorf("%s: %w", verb, &ReplyError{r})
		}
		if err != nil {
			return Checksum{}, err
		}
		if sum, ok := findSum(r.Text(), a.new().Size()); ok {
			return Checksum{a.name, sum}, nil
		}
	}
	return Checksum{}, fmt.Errorf("hash of %s: %w by the server", name, errors.ErrUnsupported)
}

// findSum finds the hash in a reply, as a word of the right length: HASH
// answers "SHA-256 0-49 3fba... name", the X commands only the sum or a
// sentence with it.
func findSum(text string, size int) (string, bool) {
	for _, w := range strings.Fields(text) {
		w = strings.ToLower(strings.Trim(w, `"'.,;:`))
		if strings.Trim(w, "0123456789abcdef") != "" {
			continue
		}
		if size == crc32.Size && len(w) < 2*size && len(w) > 3 {
			w = strings.Repeat("0", 2*size-len(w)) + w // some print numbers without leading zeros
		}
		if len(w) == 2*size {
			return w, true
		}
	}
	return "", false
}
