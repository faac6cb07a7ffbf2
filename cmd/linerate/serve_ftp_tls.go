package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// certificate is what the server shows of itself; load reads it again while
// connections go on.
type certificate struct {
	certFile, keyFile string // empty: self-signed, kept as long as the process runs
	current           atomic.Pointer[tls.Certificate]
}

// certificate returns the one that the flags ask for, nil for none.
func (o *serveFTPOptions) certificate(c cli) (*certificate, error) {
	switch {
	case o.tls != "" && o.tls != "auto" && o.tls != "off":
		return nil, usagef("--tls %s: want auto or off", o.tls)
	case (o.cert == "") != (o.key == ""):
		return nil, usagef("--cert and --key go together")
	case o.tls == "auto" && o.cert != "":
		return nil, usagef("--tls auto makes a certificate of its own; leave --cert and --key out")
	case o.tls == "off" || o.tls == "" && o.cert == "":
		return nil, nil
	}
	x := &certificate{certFile: o.cert, keyFile: o.key}
	if o.cert != "" {
		return x, x.load()
	}
	made, err := selfSigned()
	if err != nil {
		return nil, fmt.Errorf("--tls auto: %w", err)
	}
	x.current.Store(made)
	fmt.Fprintln(c.err, "self-signed certificate, SHA-256 fingerprint", fingerprint(made))
	return x, nil
}

func (x *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return x.current.Load(), nil
}

func (x *certificate) load() error {
	if x.certFile == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(x.certFile, x.keyFile)
	if err != nil {
		return fmt.Errorf("certificate %s, key %s: %w", x.certFile, x.keyFile, err)
	}
	x.current.Store(&pair)
	return nil
}

// selfSigned makes a certificate for this host's names and addresses, valid
// for a year.
func selfSigned() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{name, "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			t.IPAddresses = append(t.IPAddresses, n.IP)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// fingerprint writes the hash that clients show to compare.
func fingerprint(c *tls.Certificate) string {
	sum := sha256.Sum256(c.Certificate[0])
	pairs := make([]string, len(sum))
	for i := range sum {
		pairs[i] = strings.ToUpper(hex.EncodeToString(sum[i : i+1]))
	}
	return strings.Join(pairs, ":")
}
