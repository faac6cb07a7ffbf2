package client_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp"
	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/serve/ftp/store/disk"
	"github.com/linerate/linerate/internal/serve/ftp/users"
	"github.com/linerate/linerate/internal/testnet"
)

// TestOwnServer runs the whole client against our server, which is strict:
// data connections must resume the TLS session.
func TestOwnServer(t *testing.T) {
	certFile, roots := certificate(t)
	pair, err := tls.LoadX509KeyPair(certFile, certFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, address string
		security      client.Security
		version       uint16
		active        bool
	}{
		{"plain", "127.0.0.1:0", client.Plain, 0, false},
		{"active", "127.0.0.1:0", client.Plain, 0, true},
		{"IPv6", "[::1]:0", client.Plain, 0, false},
		{"IPv6 active", "[::1]:0", client.Plain, 0, true},
		{"TLS 1.2", "127.0.0.1:0", client.Explicit, tls.VersionTLS12, false},
		{"TLS 1.3", "127.0.0.1:0", client.Explicit, tls.VersionTLS13, false},
		{"TLS 1.3 active", "127.0.0.1:0", client.Explicit, tls.VersionTLS13, true},
		{"implicit TLS", "[::1]:0", client.Implicit, tls.VersionTLS13, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			l, err := net.Listen("tcp", c.address)
			if err != nil {
				testnet.Missing(t, "needs %s: %v", c.address, err)
			}
			st, err := disk.Open(dir, disk.Options{})
			if err != nil {
				t.Fatal(err)
			}
			cfg := ftp.Config{
				Users: users.Fixed{Account: users.Account{Name: "user"}, Password: "password"},
				Store: func(users.Account) (store.Store, error) { return st, nil },
			}
			if c.security != client.Plain {
				cfg.TLS, cfg.RequireTLS, cfg.RequireReuse = &tls.Config{Certificates: []tls.Certificate{pair}}, true, true
			}
			s := ftp.New(cfg)
			ctx, cancel := context.WithCancel(context.Background())
			var served sync.WaitGroup
			served.Go(func() { _ = s.Serve(ctx, l, c.security == client.Implicit) })
			defer func() {
				cancel()
				_ = s.Shutdown(ctx)
				served.Wait()
				_ = st.Close()
			}()
			conn, err := client.Dial(t.Context(), client.Config{
				Location: client.Location{Security: c.security, Host: l.Addr().String(), User: "user", Password: "password"},
				TLS:      &tls.Config{RootCAs: roots, MaxVersion: c.version}, Active: c.active, Timeout: 10 * time.Second,
				Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			exercise(t, conn, &testnet.FTPServer{Root: dir})
			sum, err := conn.Hash(t.Context(), ".hidden")
			if err != nil || sum.Algorithm != "SHA-256" || sum.Sum != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
				t.Errorf("hash of an empty file: %+v, %v", sum, err)
			}
		})
	}
}

// A certificate of another name, or of nobody we know, must not be taken.
func TestCertificateIsChecked(t *testing.T) {
	certFile, roots := certificate(t)
	ns := testnet.NewNamespace(t, "server")
	s := testnet.StartFTP(t, ns, "vsftpd", "127.0.0.1:2121", certFile)
	for name, conf := range map[string]*tls.Config{
		"unknown authority": nil, "other name": {RootCAs: roots, ServerName: "example.com"},
	} {
		_, err := client.Dial(t.Context(), client.Config{
			Location: client.Location{Security: client.Explicit, Host: s.Addr}, TLS: conf, Network: ns, Timeout: 10 * time.Second,
		})
		if err == nil || client.Temporary(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
