package users

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
)

// cost is the work of an argon2id hash (RFC 9106 3.1).
type cost struct {
	memory uint32 // KiB
	time   uint32 // passes
	lanes  uint8
}

// standard is OWASP's choice for argon2id where memory is scarce: 19 MiB, two
// passes, one lane.
var standard = cost{memory: 19 << 10, time: 2, lanes: 1}

// Upper bounds of what a users file may ask of us for one login.
const (
	maxMemory = 1 << 20 // KiB
	maxTime   = 64
	keyBytes  = 32
	saltBytes = 16
)

const argonPrefix = "$argon2id$"

// Hash returns the argon2id hash of password in the PHC string format.
func Hash(password string) string {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails since Go 1.24
	key := argon2.IDKey([]byte(password), salt, standard.time, standard.memory, standard.lanes, keyBytes)
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("%sv=%d$m=%d,t=%d,p=%d$%s$%s", argonPrefix, argon2.Version, standard.memory, standard.time, standard.lanes, b64(salt), b64(key))
}

// checkHash says whether verify can work with hash.
func checkHash(hash string) error {
	if strings.HasPrefix(hash, argonPrefix) {
		_, _, _, err := parseArgon(hash)
		return err
	}
	if _, err := bcrypt.Cost([]byte(hash)); err != nil {
		return errors.New("hash is neither argon2id nor bcrypt; make one with 'linerate serve ftp passwd'")
	}
	return nil
}

// verify reports whether password has this hash.
func verify(hash, password string) bool {
	if !strings.HasPrefix(hash, argonPrefix) {
		return bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) == nil
	}
	c, salt, want, err := parseArgon(hash)
	if err != nil {
		return false
	}
	got := argon2.IDKey([]byte(password), salt, c.time, c.memory, c.lanes, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1
}

func parseArgon(hash string) (c cost, salt, key []byte, err error) {
	f := strings.Split(hash, "$")
	bad := errors.New("argon2id hash: want $argon2id$v=19$m=...,t=...,p=...$salt$key")
	if len(f) != 6 || f[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return c, nil, nil, bad
	}
	if n, err := fmt.Sscanf(f[3], "m=%d,t=%d,p=%d", &c.memory, &c.time, &c.lanes); n != 3 || err != nil {
		return c, nil, nil, bad
	}
	if c.time < 1 || c.time > maxTime || c.lanes < 1 || c.memory < 8*uint32(c.lanes) || c.memory > maxMemory {
		return c, nil, nil, fmt.Errorf("argon2id hash: cost m=%d,t=%d,p=%d is out of bounds", c.memory, c.time, c.lanes)
	}
	salt, err = base64.RawStdEncoding.DecodeString(f[4])
	if err != nil || len(salt) < 8 {
		return c, nil, nil, bad
	}
	key, err = base64.RawStdEncoding.DecodeString(f[5])
	if err != nil || len(key) < 16 || len(key) > 128 {
		return c, nil, nil, bad
	}
	return c, salt, key, nil
}
