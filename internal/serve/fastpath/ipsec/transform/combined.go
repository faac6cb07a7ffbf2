package transform

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"

	"golang.org/x/crypto/chacha20poly1305"
)

// combined is a mode that encrypts and authenticates in one: AES-GCM with a
// 16-byte ICV (RFC 4106) and ChaCha20-Poly1305 (RFC 7634). Both take four bytes
// of salt and eight of IV for a nonce.
type combined struct {
	aead  cipher.AEAD
	block cipher.Block // to wipe; nil for ChaCha20
	salt  [saltBytes]byte
	mask  uint64
}

const (
	saltBytes = 4
	ivBytes   = 8
	tagBytes  = 16
)

func newGCM(key, _ Key) (Transform, error) {
	c, err := gcm(key)
	return &c, err
}

func gcm(key Key) (c combined, err error) {
	n := len(key.b) - saltBytes
	if c.block, err = aes.NewCipher(key.b[:n]); err != nil {
		return c, err
	}
	if c.aead, err = cipher.NewGCM(c.block); err != nil {
		return c, err
	}
	return c, c.season(key.b[n:])
}

func newChaCha(key, _ Key) (Transform, error) {
	n := len(key.b) - saltBytes
	a, err := chacha20poly1305.New(key.b[:n])
	if err != nil {
		return nil, err
	}
	c := &combined{aead: a}
	return c, c.season(key.b[n:])
}

// season sets the salt, and the random number that IVs are the sequence number
// XORed with: a gateway that starts anew with the same keys and counts from one
// again does not use a nonce twice.
func (c *combined) season(salt []byte) error {
	copy(c.salt[:], salt)
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return err
	}
	c.mask = binary.NativeEndian.Uint64(b[:])
	return nil
}

func (c *combined) IV() int  { return ivBytes }
func (c *combined) ICV() int { return tagBytes }

// Align is that of ESP itself (RFC 4303 2.4).
func (c *combined) Align() int { return 4 }

func (c *combined) Seal(w *Scratch, b []byte, esp, end int, seq Sequence) {
	payload := esp + headerBytes + ivBytes
	binary.BigEndian.PutUint64(b[esp+headerBytes:], seq.Number^c.mask)
	c.aead.Seal(b[payload:payload], c.nonce(w, b[esp+headerBytes:]), b[payload:end], associated(w, b[esp:], seq))
}

func (c *combined) Open(w *Scratch, b []byte, esp, end int, seq Sequence) bool {
	payload := esp + headerBytes + ivBytes
	_, err := c.aead.Open(b[payload:payload], c.nonce(w, b[esp+headerBytes:]), b[payload:end], associated(w, b[esp:], seq))
	return err == nil
}

// nonce is salt and IV (RFC 4106 section 4, RFC 7634 section 2).
func (c *combined) nonce(w *Scratch, iv []byte) []byte {
	copy(w.nonce[:], c.salt[:])
	copy(w.nonce[saltBytes:], iv[:ivBytes])
	return w.nonce[:]
}

// associated returns what is authenticated but not encrypted: SPI and sequence
// number, that with its high half first if it is extended (RFC 4106 section 5).
func associated(w *Scratch, header []byte, seq Sequence) []byte {
	if !seq.Extended {
		return header[:headerBytes]
	}
	copy(w.aad[:4], header)
	binary.BigEndian.PutUint32(w.aad[4:], uint32(seq.Number>>32))
	copy(w.aad[8:], header[4:headerBytes])
	return w.aad[:]
}

func (c *combined) Wipe() {
	wipe(c.aead)
	if c.block != nil {
		wipe(c.block)
	}
	clear(c.salt[:])
}

// gmac authenticates with AES-GMAC and does not encrypt (RFC 4543).
type gmac struct{ combined }

func newGMAC(key, _ Key) (Transform, error) {
	c, err := gcm(key)
	return &gmac{c}, err
}

func (g *gmac) Seal(w *Scratch, b []byte, esp, end int, seq Sequence) {
	binary.BigEndian.PutUint64(b[esp+headerBytes:], seq.Number^g.mask)
	from, kept := extend(b, esp, seq)
	g.aead.Seal(b[end:end], g.nonce(w, b[esp+headerBytes:]), nil, b[from:end])
	shrink(b, esp, from, kept)
}

func (g *gmac) Open(w *Scratch, b []byte, esp, end int, seq Sequence) bool {
	end -= tagBytes
	from, kept := extend(b, esp, seq)
	_, err := g.aead.Open(b[end:end], g.nonce(w, b[esp+headerBytes:]), b[end:end+tagBytes], b[from:end])
	shrink(b, esp, from, kept)
	return err == nil
}

// extend puts an extended number's high half between SPI and low half, where
// GMAC wants it (RFC 4543 3.3): the SPI moves to the four bytes before.
func extend(b []byte, esp int, seq Sequence) (from int, kept [4]byte) {
	if !seq.Extended {
		return esp, kept
	}
	copy(kept[:], b[esp-4:])
	copy(b[esp-4:esp], b[esp:esp+4])
	binary.BigEndian.PutUint32(b[esp:], uint32(seq.Number>>32))
	return esp - 4, kept
}

func shrink(b []byte, esp, from int, kept [4]byte) {
	if from != esp {
		copy(b[esp:esp+4], b[from:])
		copy(b[from:esp], kept[:])
	}
}
