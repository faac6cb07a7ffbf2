package fleet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// lifetime of a key; a renewed one is paired again.
const lifetime = 10 * 365 * 24 * time.Hour

// Fingerprint is the SHA-256 of a certificate, in hexadecimal.
type Fingerprint string

// Short is enough of a fingerprint for people to tell keys apart.
func (f Fingerprint) Short() string { return string(f[:min(16, len(f))]) }

func fingerprint(der []byte) Fingerprint {
	sum := sha256.Sum256(der)
	return Fingerprint(hex.EncodeToString(sum[:]))
}

// Identity is the key of one end and the certificate that carries it.
type Identity struct {
	cert tls.Certificate
}

// Fingerprint of the own certificate.
func (i Identity) Fingerprint() Fingerprint { return fingerprint(i.cert.Certificate[0]) }

// NewIdentity makes a key, valid for a time from now.
func NewIdentity(now time.Time, valid time.Duration) (Identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Identity{}, fmt.Errorf("make key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // RFC 5280 4.1.2.2
	if err != nil {
		return Identity{}, fmt.Errorf("make certificate: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "linerate"},
		// Boards without a clock battery start in 1970.
		NotBefore: time.Unix(0, 0), NotAfter: now.Add(valid),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, &x509.Certificate{Subject: pkix.Name{CommonName: "linerate"}}, key.Public(), key)
	if err != nil {
		return Identity{}, fmt.Errorf("make certificate: %w", err)
	}
	return Identity{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}, nil
}

// LoadIdentity reads the key in dir, or makes one there the first time.
func LoadIdentity(dir string) (Identity, error) {
	name := filepath.Join(dir, "identity.pem")
	b, err := readPrivate(name)
	if errors.Is(err, fs.ErrNotExist) {
		return makeIdentity(name)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("own key: %w", err)
	}
	cert, err := tls.X509KeyPair(b, b)
	if err != nil {
		return Identity{}, fmt.Errorf("own key: %s: %w; remove the file to make another, and pair again", name, err)
	}
	return Identity{cert}, nil
}

func makeIdentity(name string) (Identity, error) {
	id, err := NewIdentity(time.Now(), lifetime)
	if err != nil {
		return id, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(id.cert.PrivateKey)
	if err != nil {
		return id, fmt.Errorf("own key: %w", err)
	}
	b := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: id.cert.Certificate[0]})...)
	return id, writePrivate(name, b)
}

// readPrivate reads a file that others may not.
func readPrivate(name string) ([]byte, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if exposed(st.Mode()) {
		return nil, fmt.Errorf("%s: others may read it (%v): chmod 600 it", name, st.Mode().Perm())
	}
	return os.ReadFile(name)
}

// writePrivate writes a file whole or not at all, for its owner only.
func writePrivate(name string, b []byte) error {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// tls returns the configuration of either side. Names and authorities say
// nothing here: whom to trust is decided by the peer's certificate itself,
// once the handshake has proved that the peer has its key.
func (i Identity) tls() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{i.cert}, NextProtos: []string{"linerate/1"},
		ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true, SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if after := s.PeerCertificates[0].NotAfter; time.Now().After(after) {
				return fmt.Errorf("the peer's key expired on %s: remove its identity.pem and pair again: %w", after.Format(time.DateOnly), ErrNotTrusted)
			}
			return nil
		},
	}
}
