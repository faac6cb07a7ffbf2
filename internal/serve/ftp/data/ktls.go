package data

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net"

	"golang.org/x/crypto/chacha20poly1305"
)

// Sizes of a TLS 1.3 record (RFC 8446 5.1, 5.2). What a record adds to its
// content is the same for each cipher the kernel is asked to use.
const (
	recordHeader   = 5
	recordTag      = 16
	recordOverhead = recordHeader + 1 + recordTag // 1: the content's type
)

// errNoKernelTLS says that crypto/tls goes on sending.
var errNoKernelTLS = errors.New("no kernel TLS here")

// errTakenOver refuses what crypto/tls would still send: under the sequence
// number of a record that the kernel or we send, it would give the key away.
var errTakenOver = errors.New("crypto/tls no longer sends on this TLS connection")

// secrets keeps the traffic secrets of both directions. crypto/tls tells them
// in one way only, as lines of a key log (RFC 9850), which it gives to Write.
type secrets struct {
	own, peer   string // labels
	write, read []byte // nil: not told (TLS 1.2) or forgotten
}

func (s *secrets) Write(line []byte) (int, error) {
	f := bytes.Fields(line)
	if len(f) != 3 {
		return len(line), nil
	}
	for label, secret := range map[string]*[]byte{s.own: &s.write, s.peer: &s.read} {
		if string(f[0]) != label {
			continue
		}
		b := make([]byte, hex.DecodedLen(len(f[2])))
		if _, err := hex.Decode(b, f[2]); err == nil {
			*secret = b
		}
	}
	return len(line), nil
}

// forget clears a secret.
func forget(secret *[]byte) {
	clear(*secret)
	*secret = nil
}

// trafficKey protects the records of one direction.
type trafficKey struct {
	suite   uint16 // tls.TLS_...
	key, iv []byte
	next    uint64 // sequence number of the next record (RFC 8446 5.3)
}

// deriveTrafficKey is RFC 8446 7.3.
func deriveTrafficKey(suite uint16, secret []byte) (*trafficKey, error) {
	h, size := sha256.New, 32
	switch suite {
	case tls.TLS_AES_128_GCM_SHA256:
		size = 16
	case tls.TLS_AES_256_GCM_SHA384:
		h = sha512.New384
	case tls.TLS_CHACHA20_POLY1305_SHA256:
	default:
		return nil, fmt.Errorf("%s: %w", tls.CipherSuiteName(suite), errNoKernelTLS)
	}
	key, err := expandLabel(h, secret, "key", size)
	if err != nil {
		return nil, err
	}
	iv, err := expandLabel(h, secret, "iv", 12)
	if err != nil {
		return nil, err
	}
	return &trafficKey{suite: suite, key: key, iv: iv}, nil
}

// expandLabel is HKDF-Expand-Label without context (RFC 8446 7.1).
func expandLabel(h func() hash.Hash, secret []byte, label string, length int) ([]byte, error) {
	label = "tls13 " + label
	info := binary.BigEndian.AppendUint16(nil, uint16(length))
	info = append(info, byte(len(label)))
	info = append(info, label...)
	info = append(info, 0) // length of the context
	return hkdf.Expand(h, secret, string(info), length)
}

// count sets next behind those records of sent that k protects: the session
// tickets, which follow records under the keys of the handshake in one flight.
// crypto/tls doesn't tell where keys change; that a record opens does.
func (k *trafficKey) count(sent []byte) error {
	aead, err := k.aead()
	if err != nil {
		return err
	}
	for len(sent) >= recordHeader {
		size := recordHeader + int(binary.BigEndian.Uint16(sent[3:]))
		if size > len(sent) {
			break
		}
		if _, err := aead.Open(nil, k.nonce(k.next), sent[recordHeader:size], sent[:recordHeader]); err == nil {
			k.next++
		} else if k.next > 0 {
			return fmt.Errorf("record after %d under the traffic key: %w", k.next, err)
		}
		sent = sent[size:]
	}
	if len(sent) > 0 {
		return fmt.Errorf("half a record of %d bytes sent: %w", len(sent), errNoKernelTLS)
	}
	return nil
}

func (k *trafficKey) aead() (cipher.AEAD, error) {
	if k.suite == tls.TLS_CHACHA20_POLY1305_SHA256 {
		return chacha20poly1305.New(k.key)
	}
	block, err := aes.NewCipher(k.key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// nonce is RFC 8446 5.3.
func (k *trafficKey) nonce(sequence uint64) []byte {
	n := bytes.Clone(k.iv)
	low := n[len(n)-8:]
	binary.BigEndian.PutUint64(low, binary.BigEndian.Uint64(low)^sequence)
	return n
}

func (k *trafficKey) forget() {
	clear(k.key)
	clear(k.iv)
}

// writeKey returns the key of our own direction where crypto/tls has sent
// nothing under it but what the handshake did. The caller holds wmu.
func (t *TLSConn) writeKey() (*trafficKey, error) {
	g := t.gather
	if g.used || g.secrets.write == nil {
		return nil, errNoKernelTLS
	}
	k, err := deriveTrafficKey(t.ConnectionState().CipherSuite, g.secrets.write)
	if err != nil {
		return nil, err
	}
	return k, k.count(g.handshake)
}

// toKernel hands sending on t over to the kernel and returns the socket, which
// from now on takes what is to be encrypted. An error says that nothing has
// changed: crypto/tls goes on.
func (t *TLSConn) toKernel() (*net.TCPConn, error) {
	g := t.gather
	g.wmu.Lock()
	defer g.wmu.Unlock()
	tcp, ok := g.Conn.(*net.TCPConn)
	if !ok || !kernelTLS {
		return nil, errNoKernelTLS
	}
	k, err := t.writeKey()
	if err != nil {
		return nil, err
	}
	defer k.forget()
	if g.kernel, err = newKernelSender(tcp, k); err != nil {
		return nil, err
	}
	return tcp, nil
}
