package ftp

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/serve/ftp/store"
	wire "github.com/linerate/linerate/internal/wire/ftp"
)

// defaultHash is what HASH computes until OPTS HASH chooses another.
const defaultHash = "SHA-256"

// hashNames are the algorithms in the order of FEAT, named as in the IANA
// registry of hash function textual names.
var hashNames = [...]string{"SHA-256", "SHA-512", "SHA-1", "MD5", "CRC32"}

func newHash(name string) hash.Hash {
	switch name {
	case "SHA-256":
		return sha256.New()
	case "SHA-512":
		return sha512.New()
	case "SHA-1":
		return sha1.New()
	case "MD5":
		return md5.New()
	case "CRC32":
		return crc32.NewIEEE()
	}
	return nil
}

// hashing is the algorithm that HASH computes (draft-bryan-ftpext-hash).
type hashing string

// feature writes the line of FEAT, the algorithm in use with an asterisk.
func (h hashing) feature() string {
	var names []string
	for _, n := range hashNames {
		if n == string(h) {
			n += "*"
		}
		names = append(names, n)
	}
	return "HASH " + strings.Join(names, ";")
}

func (x *session) optsHash(arg string) wire.Reply {
	if arg != "" {
		name := strings.ToUpper(arg)
		if newHash(name) == nil {
			return wire.NewReply(501, "Hash not known, use one of %s", strings.Join(hashNames[:], ", "))
		}
		x.hash = hashing(name)
	}
	return wire.NewReply(200, "%s", x.hash)
}

// span is a range of bytes of a file, last included.
type span struct{ first, last int64 }

// cmdRang chooses the bytes that the next RETR or HASH covers; a first above
// the last chooses the whole file again (draft-bryan-ftp-range 3).
func (x *session) cmdRang(arg string) wire.Reply {
	a, b, _ := strings.Cut(arg, " ")
	first, err1 := strconv.ParseInt(a, 10, 64)
	last, err2 := strconv.ParseInt(b, 10, 64)
	switch {
	case err1 != nil || err2 != nil || first < 0 || last < 0 || last == math.MaxInt64:
		return wire.NewReply(501, "Syntax: RANG <sp> first <sp> last")
	case x.ascii:
		return wire.NewReply(504, "RANG works in TYPE I only")
	case first > last:
		x.rang = nil
		return wire.NewReply(350, "RETR and HASH cover the whole file")
	}
	x.rang = &span{first, last}
	return wire.NewReply(350, "Next RETR or HASH covers %d to %d", first, last)
}

func (x *session) cmdHash(arg string) wire.Reply {
	return x.onFile(arg, func(name string, i store.Info) wire.Reply {
		first, end := int64(0), i.Size
		if x.rang != nil {
			first, end = x.rang.first, min(x.rang.last+1, i.Size)
		}
		sum, err := x.sum(name, i, string(x.hash), first, end)
		if err != nil {
			return x.moveFailure(err)
		}
		return wire.NewReply(213, "%s %d-%d %s %s", x.hash, first, max(first, end-1), sum, arg)
	})
}

// xhash makes the handler of XCRC, XMD5 and their kin: "path", then perhaps a
// first byte and the one behind the last.
func xhash(algorithm string) func(*session, string) wire.Reply {
	return func(x *session, arg string) wire.Reply {
		file, first, end, ok := cutRange(arg)
		if !ok {
			return wire.NewReply(501, "Syntax: path [<sp> first <sp> end]")
		}
		return x.onFile(file, func(name string, i store.Info) wire.Reply {
			sum, err := x.sum(name, i, algorithm, first, min(end, i.Size))
			if err != nil {
				return x.moveFailure(err)
			}
			return wire.NewReply(250, "%s", strings.ToUpper(sum))
		})
	}
}

// cutRange splits the argument of the X commands. A quoted path is the only
// one that may have a range behind it: an unquoted one may have spaces itself.
func cutRange(arg string) (file string, first, end int64, ok bool) {
	if !strings.HasPrefix(arg, `"`) {
		return arg, 0, math.MaxInt64, true
	}
	file, rest, err := wire.ParseQuoted(arg)
	if err != nil {
		return "", 0, 0, false
	}
	end = math.MaxInt64
	for i, f := range strings.Fields(rest) {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil || n < 0 || i > 1 {
			return "", 0, 0, false
		}
		if i == 0 {
			first = n
		} else {
			end = n
		}
	}
	return file, first, end, first <= end
}

// sum hashes the bytes of a file from first up to end. ABOR ends it, as it may
// take as long as a transfer.
func (x *session) sum(name string, i store.Info, algorithm string, first, end int64) (string, error) {
	if algorithm == "SHA-256" && i.SHA256 != nil && first == 0 && end == i.Size {
		return hex.EncodeToString(i.SHA256), nil
	}
	r, err := x.store.Open(x.ctx, name, first)
	if err != nil {
		return "", err
	}
	defer r.Close()
	ctx, cancel := context.WithCancelCause(x.ctx)
	defer cancel(nil)
	defer x.watch(cancel)()
	h := newHash(algorithm)
	if _, err := io.Copy(h, &stopped{ctx, io.LimitReader(r, end-first)}); err != nil {
		return "", fmt.Errorf("hash %s: %w", name, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// stopped ends a long read when ctx does.
type stopped struct {
	ctx context.Context
	r   io.Reader
}

func (s *stopped) Read(b []byte) (int, error) {
	if err := context.Cause(s.ctx); err != nil {
		return 0, err
	}
	return s.r.Read(b)
}
