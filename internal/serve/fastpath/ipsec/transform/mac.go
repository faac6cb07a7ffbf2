package transform

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"
	"sync"
)

// hashing is an HMAC cut to half its length (RFC 4868 2.6), that with SHA-1 to
// 96 bits (RFC 2404).
type hashing struct {
	name string
	new  func() hash.Hash
	key  int
	size int
}

var (
	sha196    = hashing{"sha1", sha1.New, 20, 12}
	sha256128 = hashing{"sha256", sha256.New, 32, 16}
	sha384192 = hashing{"sha384", sha512.New384, 48, 24}
	sha512256 = hashing{"sha512", sha512.New, 64, 32}
)

// MAC authenticates the packets of AH. Its users take turns: Lock it.
type MAC struct {
	sync.Mutex
	hash hash.Hash
	size int
	high [4]byte
}

// NewMAC makes the MAC of a name: sha256, sha384, sha512, or sha1 for peers
// that have nothing better.
func NewMAC(name string, key Key) (*MAC, error) {
	all := []hashing{sha196, sha256128, sha384192, sha512256}
	i := slices.IndexFunc(all, func(h hashing) bool { return h.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%w %q; AH takes sha256, sha384, sha512, sha1", ErrUnknown, name)
	}
	if key.Len() != all[i].key {
		return nil, fmt.Errorf("%s: key of %d bytes, want %d", name, key.Len(), all[i].key)
	}
	return newMAC(all[i], key), nil
}

func newMAC(h hashing, key Key) *MAC { return &MAC{hash: hmac.New(h.new, key.b), size: h.size} }

// Size returns the length of a sum.
func (m *MAC) Size() int { return m.size }

// Sum authenticates the pieces and, if it is extended, the high half of the
// sequence number behind them. The sum is valid until w is used again.
func (m *MAC) Sum(w *Scratch, seq Sequence, pieces ...[]byte) []byte {
	m.start()
	for _, p := range pieces {
		m.write(p)
	}
	return m.finish(w, seq)
}

func (m *MAC) start()         { m.hash.Reset() }
func (m *MAC) write(b []byte) { _, _ = m.hash.Write(b) } // never fails (hash.Hash)

func (m *MAC) finish(w *Scratch, seq Sequence) []byte {
	if seq.Extended {
		binary.BigEndian.PutUint32(m.high[:], uint32(seq.Number>>32))
		m.write(m.high[:])
	}
	return m.hash.Sum(w.sum[:0])[:m.size]
}

// Equal compares sums in constant time.
func Equal(a, b []byte) bool { return equal(a, b) }

func equal(a, b []byte) bool { return subtle.ConstantTimeCompare(a, b) == 1 }

// Wipe overwrites the key; sums are those of no key then.
func (m *MAC) Wipe() {
	wipe(m.hash)
	m.hash = hmac.New(sha256.New, nil)
}
