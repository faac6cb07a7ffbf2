package transform

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"sync"
)

// setIV is what the standard library's CBC modes can besides their interface,
// so that one is enough for all packets (crypto/tls relies on it too).
type setIV interface {
	cipher.BlockMode
	SetIV([]byte)
}

// separate encrypts with AES-CBC (RFC 3602) or not at all (RFC 2410), and
// authenticates with an HMAC (RFC 4868). Both keep state, so that packets of an
// association take turns.
type separate struct {
	mu         sync.Mutex
	mac        *MAC
	block      cipher.Block // nil: NULL encryption
	enc, dec   setIV
	forIV      cipher.Block // under a key of its own: what it makes of the sequence number is an IV
	forIVPlain [aes.BlockSize]byte
}

func newCBC(h hashing) func(key, auth Key) (Transform, error) {
	return func(key, auth Key) (Transform, error) {
		s := &separate{mac: newMAC(h, auth)}
		if len(key.b) == 0 {
			return s, nil
		}
		var err error
		if s.block, err = aes.NewCipher(key.b); err != nil {
			return nil, err
		}
		var random [16]byte
		if _, err := rand.Read(random[:]); err != nil {
			return nil, err
		}
		if s.forIV, err = aes.NewCipher(random[:]); err != nil {
			return nil, err
		}
		s.enc = cipher.NewCBCEncrypter(s.block, random[:]).(setIV)
		s.dec = cipher.NewCBCDecrypter(s.block, random[:]).(setIV)
		clear(random[:])
		return s, nil
	}
}

func (s *separate) IV() int {
	if s.block == nil {
		return 0
	}
	return aes.BlockSize
}

func (s *separate) ICV() int { return s.mac.Size() }

func (s *separate) Align() int {
	if s.block == nil {
		return 4
	}
	return aes.BlockSize
}

func (s *separate) Seal(w *Scratch, b []byte, esp, end int, seq Sequence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.block != nil {
		iv := b[esp+headerBytes : esp+headerBytes+aes.BlockSize]
		// Unpredictable, as CBC wants it (RFC 3602 section 3).
		binary.BigEndian.PutUint64(s.forIVPlain[:], seq.Number)
		s.forIV.Encrypt(iv, s.forIVPlain[:])
		s.enc.SetIV(iv)
		payload := b[esp+headerBytes+aes.BlockSize : end]
		s.enc.CryptBlocks(payload, payload)
	}
	copy(b[end:], s.sum(w, b[esp:end], seq))
}

func (s *separate) Open(w *Scratch, b []byte, esp, end int, seq Sequence) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	end -= s.mac.Size()
	if !equal(b[end:end+s.mac.Size()], s.sum(w, b[esp:end], seq)) {
		return false
	}
	if s.block == nil {
		return true
	}
	payload := b[esp+headerBytes+aes.BlockSize : end]
	if len(payload)%aes.BlockSize != 0 {
		return false
	}
	s.dec.SetIV(b[esp+headerBytes : esp+headerBytes+aes.BlockSize])
	s.dec.CryptBlocks(payload, payload)
	return true
}

// sum authenticates a packet and the high half behind it (RFC 4303 2.8).
func (s *separate) sum(w *Scratch, b []byte, seq Sequence) []byte {
	s.mac.start()
	s.mac.write(b)
	return s.mac.finish(w, seq)
}

func (s *separate) Wipe() {
	s.mac.Wipe()
	if s.block != nil {
		for _, v := range []any{s.block, s.enc, s.dec, s.forIV} {
			wipe(v)
		}
	}
}
