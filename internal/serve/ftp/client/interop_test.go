package client_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/internal/testnet"
)

// TestForeignServers runs the whole client against the servers in use.
func TestForeignServers(t *testing.T) {
	certFile, roots := certificate(t)
	for _, server := range testnet.FTPServers() {
		for _, security := range []client.Security{client.Plain, client.Explicit} {
			for _, active := range []bool{false, true} {
				name := server + map[client.Security]string{client.Plain: "/plain", client.Explicit: "/tls"}[security]
				if active {
					name += "/active"
				}
				t.Run(name, func(t *testing.T) {
					pem := ""
					if security != client.Plain {
						pem = certFile
					}
					ns := testnet.NewNamespace(t, server)
					s := testnet.StartFTP(t, ns, server, "127.0.0.1:2121", pem)
					cfg := client.Config{
						Location: client.Location{Security: security, Host: s.Addr, User: s.User, Password: s.Password},
						TLS:      &tls.Config{RootCAs: roots}, Active: active, Network: ns, Timeout: 15 * time.Second,
						Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
					}
					c, err := client.Dial(t.Context(), cfg)
					if err != nil {
						t.Fatal(err)
					}
					defer c.Close()
					exercise(t, c, s)
				})
			}
		}
	}
}

// exercise puts, lists, resumes and gets, and compares with the server's disk.
func exercise(t *testing.T, c *client.Conn, s *testnet.FTPServer) {
	t.Helper()
	ctx := t.Context()
	up := func(name string) string { return filepath.ToSlash(filepath.Join(s.Writable, name)) }
	onDisk := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(s.Root, s.Writable, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	body := make([]byte, 3<<20+17)
	_, _ = rand.Read(body)

	const name = "a b ü.bin"
	if err := c.Announce(ctx, int64(len(body))); err != nil {
		t.Errorf("announce: %v", err)
	}
	if _, err := c.Put(ctx, up(name), 0, bytes.NewReader(body), data.Options{}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(onDisk(name), body) {
		t.Error("put changed the payload")
	}
	for _, offset := range []int64{0, 1, 1 << 20, int64(len(body))} {
		var got bytes.Buffer
		st, err := c.Get(ctx, up(name), offset, &got, data.Options{})
		if err != nil || !bytes.Equal(got.Bytes(), body[offset:]) || st.Bytes != int64(len(body))-offset {
			t.Errorf("get from %d: %d bytes, %v", offset, got.Len(), err)
		}
	}
	if st, err := c.Get(ctx, up(name), 0, io.Discard, data.Options{}); err != nil || st.Bytes != int64(len(body)) {
		t.Errorf("get to nowhere: %+v, %v", st, err)
	}

	const cut = 1 << 20
	if err := os.Truncate(filepath.Join(s.Root, s.Writable, name), cut); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(ctx, up(name), cut, bytes.NewReader(body[cut:]), data.Options{}); err != nil {
		t.Fatalf("resume: %v", err)
	}
	if !bytes.Equal(onDisk(name), body) {
		t.Error("a resumed put changed the payload")
	}
	if n, err := c.Size(ctx, up(name)); err != nil || n != int64(len(body)) {
		t.Errorf("size %d, %v", n, err)
	}
	if e, err := c.Stat(ctx, up(name)); err != nil || e.Size != int64(len(body)) || e.IsDir() || time.Since(e.Modify).Abs() > time.Hour {
		t.Errorf("stat %+v, %v", e, err)
	}
	if err := c.MakeDir(ctx, up("dir")); err != nil {
		t.Error(err)
	}
	if err := c.MakeDir(ctx, up("dir")); err != nil {
		t.Errorf("make a directory that is there: %v", err)
	}
	if err := os.WriteFile(filepath.Join(s.Root, s.Writable, ".hidden"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	entries, err := c.List(ctx, s.Writable)
	for _, e := range entries {
		seen[e.Name] = e.Type
	}
	if err != nil || seen[name] != "file" || seen["dir"] != "dir" || seen[".hidden"] != "file" || len(seen) != 3 {
		t.Errorf("list %v, %v", seen, err)
	}

	var refusal *client.ReplyError
	if _, err := c.Get(ctx, up("missing"), 0, io.Discard, data.Options{}); !errors.As(err, &refusal) || client.Temporary(err) {
		t.Errorf("get of a missing file: %v", err)
	}
	when := time.Date(2020, 2, 29, 12, 34, 56, 0, time.UTC)
	if err := c.SetModTime(ctx, up(name), when); err == nil {
		if at, err := c.ModTime(ctx, up(name)); err != nil || !at.Equal(when) {
			t.Errorf("time set to %v reads %v, %v", when, at, err)
		}
	} else if !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if err := c.Remove(ctx, up(name)); err != nil {
		t.Error(err)
	}
}

// certificate makes one for 127.0.0.1 and returns the file of it with its key,
// and the pool that trusts it. RSA, for vsftpd knows no other name for a key.
func certificate(t *testing.T) (file string, roots *x509.CertPool) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "linerate test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AddCert(cert)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	file = filepath.Join(t.TempDir(), "server.pem")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, roots
}
