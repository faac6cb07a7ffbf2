package transform

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Transform protects the payloads of one security association. Its methods may
// run at the same time as long as each caller has its own Scratch; Wipe may not
// run beside any of them.
type Transform interface {
	// IV returns the bytes between the ESP header and the payload.
	IV() int
	// ICV returns the bytes behind the trailer.
	ICV() int
	// Align returns what payload and trailer are padded to a multiple of.
	Align() int

	// Seal encrypts and signs in place: b[esp:end] is ESP header, room for the
	// IV, payload and trailer; ICV bytes follow it. Four bytes before esp must
	// exist, and are kept.
	Seal(w *Scratch, b []byte, esp, end int, seq Sequence)

	// Open checks and decrypts what Seal made, where end is the end of the ICV.
	// When it returns false the payload is spoilt.
	Open(w *Scratch, b []byte, esp, end int, seq Sequence) bool

	// Wipe overwrites the keys.
	Wipe()
}

// Sequence is a sequence number; Extended ones are authenticated with their
// high half, which no packet carries (RFC 4303 2.2.1).
type Sequence struct {
	Number   uint64
	Extended bool
}

// Scratch is what one caller needs while it seals and opens.
type Scratch struct {
	nonce [12]byte
	aad   [12]byte
	sum   [64]byte // the longest hash
}

// headerBytes is the length of SPI and sequence number.
const headerBytes = 8

// Suite describes a way of protecting.
type Suite struct {
	Name    string // as strongSwan spells it
	Key     int    // bytes of the encryption key, salt included; 0 without encryption
	AuthKey int    // bytes of the authentication key; 0 for combined modes
	build   func(key, auth Key) (Transform, error)
}

// suites lists what there is. RFC 8221 section 5 says what is still worth it.
var suites = []Suite{
	{"aes128gcm16", 16 + 4, 0, newGCM},
	{"aes256gcm16", 32 + 4, 0, newGCM},
	{"chacha20poly1305", 32 + 4, 0, newChaCha},
	{"aes128gmac", 16 + 4, 0, newGMAC},
	{"aes256gmac", 32 + 4, 0, newGMAC},
	{"aes128-sha256", 16, 32, newCBC(sha256128)},
	{"aes256-sha256", 32, 32, newCBC(sha256128)},
	{"aes256-sha384", 32, 48, newCBC(sha384192)},
	{"aes256-sha512", 32, 64, newCBC(sha512256)},
	{"null-sha256", 0, 32, newCBC(sha256128)},
	{"null-sha384", 0, 48, newCBC(sha384192)},
	{"null-sha512", 0, 64, newCBC(sha512256)},
}

// ErrUnknown is wrapped by the errors of names that are in no table.
var ErrUnknown = errors.New("unknown algorithm")

// Lookup returns a suite by name.
func Lookup(name string) (Suite, error) {
	i := slices.IndexFunc(suites, func(s Suite) bool { return s.Name == name })
	if i < 0 {
		return Suite{}, fmt.Errorf("%w %q; there are %s", ErrUnknown, name, strings.Join(Names(), ", "))
	}
	return suites[i], nil
}

// Names lists the suites.
func Names() (all []string) {
	for _, s := range suites {
		all = append(all, s.Name)
	}
	return all
}

// New makes a transform of the suite; the keys stay the caller's.
func (s Suite) New(key, auth Key) (Transform, error) {
	if key.Len() != s.Key {
		return nil, fmt.Errorf("%s: key of %d bytes, want %d (salt included)", s.Name, key.Len(), s.Key)
	}
	if auth.Len() != s.AuthKey {
		return nil, fmt.Errorf("%s: authentication key of %d bytes, want %d", s.Name, auth.Len(), s.AuthKey)
	}
	return s.build(key, auth)
}
