package iperf3

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrAuth is wrapped by the errors for a token that does not admit its bearer.
var ErrAuth = errors.New("not authorized")

// Credentials admit a client. The token protects the admission only; the test
// itself runs in clear text.
type Credentials struct {
	User, Password string
	Time           time.Time
}

// Token encrypts c for the server's key. oldPadding selects PKCS #1 v1.5 (RFC
// 8017 7.2) for servers up to 3.16; later ones want OAEP with SHA-1 (7.1).
func (c Credentials) Token(key *rsa.PublicKey, oldPadding bool) (string, error) {
	text := fmt.Appendf(nil, "user: %s\npwd:  %s\nts:   %d", c.User, c.Password, c.Time.Unix())
	var sealed []byte
	var err error
	if oldPadding {
		//lint:ignore SA1019 servers up to 3.16 read no other padding
		sealed, err = rsa.EncryptPKCS1v15(rand.Reader, key, text)
	} else {
		sealed, err = rsa.EncryptOAEP(sha1.New(), rand.Reader, key, text, nil)
	}
	if err != nil {
		return "", fmt.Errorf("iperf3 token: %w", err)
	}
	return base64.StdEncoding.EncodeToString(sealed), nil
}

// ParseToken decrypts a token of either padding.
func ParseToken(key *rsa.PrivateKey, token string) (Credentials, error) {
	sealed, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return Credentials{}, fmt.Errorf("iperf3 token: %w: %w", ErrAuth, err)
	}
	text, err := rsa.DecryptOAEP(sha1.New(), nil, key, sealed, nil)
	if err != nil {
		//lint:ignore SA1019 clients up to 3.16 send no other padding
		text, err = rsa.DecryptPKCS1v15(nil, key, sealed)
	}
	if err != nil {
		return Credentials{}, fmt.Errorf("iperf3 token: %w: made for another key", ErrAuth)
	}
	return parseCredentials(string(text))
}

func parseCredentials(text string) (Credentials, error) {
	var c Credentials
	user, rest, ok1 := strings.Cut(text, "\n")
	pwd, ts, ok2 := strings.Cut(rest, "\n")
	user, ok3 := strings.CutPrefix(user, "user: ")
	pwd, ok4 := strings.CutPrefix(pwd, "pwd:  ")
	ts, ok5 := strings.CutPrefix(ts, "ts:   ")
	sec, err := strconv.ParseInt(ts, 10, 64)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || err != nil {
		return c, fmt.Errorf("iperf3 token: %w: not in the form of iperf3", ErrAuth)
	}
	return Credentials{User: user, Password: pwd, Time: time.Unix(sec, 0)}, nil
}

// Users maps a name to the hex SHA-256 of "{name}password".
type Users map[string]string

// ParseUsers reads an authorized users file: lines "name,hash", comments after #.
func ParseUsers(file string) (Users, error) {
	u := Users{}
	for i, line := range strings.Split(file, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, hash, ok := strings.Cut(line, ",")
		if !ok || len(hash) != 2*sha256.Size {
			return nil, fmt.Errorf("users file: line %d: want name,sha256", i+1)
		}
		u[name] = strings.ToLower(hash)
	}
	return u, nil
}

// Admit checks c against the users and the clock; skew is the greatest
// difference of clocks allowed.
func (u Users) Admit(c Credentials, now time.Time, skew time.Duration) error {
	if d := now.Sub(c.Time).Abs(); d > skew {
		return fmt.Errorf("%w: the clocks differ by %v, more than %v", ErrAuth, d.Round(time.Second), skew)
	}
	sum := sha256.Sum256([]byte("{" + c.User + "}" + c.Password))
	want, known := u[c.User]
	same := subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum[:])), []byte(want)) == 1
	if !known || !same {
		return fmt.Errorf("%w: user %q or password is wrong", ErrAuth, c.User)
	}
	return nil
}
