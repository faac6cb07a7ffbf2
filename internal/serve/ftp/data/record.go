package data

import (
	"crypto/cipher"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
)

// Types of TLS records (RFC 8446 B.1) and what we know of their content.
const (
	typeAlert           = 21
	typeHandshake       = 22
	typeApplication     = 23
	messageTicket       = 4  // NewSessionTicket (RFC 8446 4)
	messageKeyUpdate    = 24 // KeyUpdate
	alertWarning        = 1
	alertCloseNotify    = 0
	alertUserCanceled   = 90
	maxContent          = 16 << 10 // bytes of content in a record (RFC 8446 5.1)
	maxCiphertext       = maxContent + 256
	plaintextCiphertext = 1 + recordTag // what a record's body has beyond its content, without padding
)

// recordSize returns the size of the record that b begins with, which holds its
// header at least.
func recordSize(b []byte) int {
	return recordHeader + int(binary.BigEndian.Uint16(b[recordHeader-2:]))
}

// records protects or opens the records of one direction (RFC 8446 5.2).
type records struct {
	*trafficKey
	gcm    cipher.AEAD
	buf    [12]byte // nonce
	secret []byte   // for the next key; the read direction's only
}

func newRecords(k *trafficKey) (*records, error) {
	gcm, err := k.aead()
	if err != nil {
		return nil, err
	}
	return &records{trafficKey: k, gcm: gcm}, nil
}

// number returns the nonce of the next record (RFC 8446 5.3).
func (r *records) number() []byte {
	copy(r.buf[:], r.iv)
	low := r.buf[4:]
	binary.BigEndian.PutUint64(low, binary.BigEndian.Uint64(low)^r.next)
	r.next++
	return r.buf[:]
}

// seal appends a record to b, which has room for it.
func (r *records) seal(b []byte, kind byte, content []byte) []byte {
	copy(b[len(b)+recordHeader:cap(b)], content)
	return r.sealInPlace(b, kind, len(content))
}

// sealInPlace does the same for n bytes of content that are where the record
// will have them.
func (r *records) sealInPlace(b []byte, kind byte, n int) []byte {
	size := n + plaintextCiphertext
	header := append(b, typeApplication, 3, 3, byte(size>>8), byte(size))[len(b):]
	body := b[len(b)+recordHeader : len(b)+recordHeader]
	inner := append(body[:n], kind)
	r.gcm.Seal(body, r.number(), inner, header)
	return b[:len(b)+recordHeader+size]
}

// open opens the record b into dst, which has room for its content, type and
// padding, and returns its content and type.
func (r *records) open(dst, b []byte) (content []byte, kind byte, err error) {
	inner, err := r.gcm.Open(dst[:0], r.number(), b[recordHeader:], b[:recordHeader])
	if err != nil || b[0] != typeApplication {
		return nil, 0, fmt.Errorf("TLS record %d does not open: %w", r.next-1, io.ErrUnexpectedEOF)
	}
	for n := len(inner); n > 0; n-- {
		if kind = inner[n-1]; kind != 0 {
			return inner[:n-1], kind, nil
		}
	}
	return nil, 0, fmt.Errorf("TLS record %d is all padding: %w", r.next-1, io.ErrUnexpectedEOF)
}

// renew goes on to the next key (RFC 8446 7.2).
func (r *records) renew() error {
	h := func() hash.Hash { return sha256.New() }
	if r.suite == tls.TLS_AES_256_GCM_SHA384 {
		h = sha512.New384
	}
	next, err := expandLabel(h, r.secret, "traffic upd", h().Size())
	if err != nil {
		return err
	}
	clear(r.secret)
	r.secret = next
	k, err := deriveTrafficKey(r.suite, next)
	if err != nil {
		return err
	}
	r.trafficKey.forget()
	r.trafficKey = k
	r.gcm, err = k.aead()
	return err
}
