package ftp

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/serve/ftp/store/memory"
	"github.com/linerate/linerate/internal/serve/ftp/users"
	wire "github.com/linerate/linerate/internal/wire/ftp"
)

// patience is how long a test waits for what should come at once.
const patience = 10 * time.Second

// rig is a server under test.
type rig struct {
	*Server
	addr string
	stop func()
}

// serveOn starts a server on address with cfg; what cfg leaves out is a memory
// store and the login user/password.
func serveOn(t testing.TB, address string, cfg Config) *rig {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return serveListener(t, l, cfg)
}

func serveListener(t testing.TB, l net.Listener, cfg Config) *rig {
	t.Helper()
	if cfg.Store == nil {
		st, err := memory.New(memory.Options{Budget: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		cfg.Store = func(users.Account) (store.Store, error) { return st, nil }
	}
	if cfg.Users == nil {
		cfg.Users = users.Fixed{Account: users.Account{Name: "user"}, Password: "password"}
	}
	s := New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() {
		if err := s.Serve(ctx, l, false); err != nil {
			t.Error(err)
		}
	})
	r := &rig{Server: s, addr: l.Addr().String(), stop: sync.OnceFunc(func() {
		cancel()
		over, cancel := context.WithCancel(context.Background())
		cancel() // cut everything off
		_ = s.Shutdown(over)
		served.Wait()
	})}
	t.Cleanup(r.stop)
	return r
}

func serve(t testing.TB, cfg Config) *rig { return serveOn(t, "127.0.0.1:0", cfg) }

// peer is a client that says exactly what a test tells it to.
type peer struct {
	t    testing.TB
	tcp  net.Conn
	conn net.Conn
	r    *bufio.Reader
	conf *tls.Config // nil: data in clear
	open []net.Conn  // what hangUp closes
}

// hangUp closes every connection of the client.
func (p *peer) hangUp() {
	for _, c := range p.open {
		c.Close()
	}
}

// dial connects and takes the greeting.
func dial(t testing.TB, addr string) *peer {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, tcp: c, conn: c, r: bufio.NewReader(c), open: []net.Conn{c}}
	t.Cleanup(p.hangUp)
	p.want(220)
	return p
}

// login connects and logs in, TYPE I.
func login(t testing.TB, addr string) *peer {
	t.Helper()
	p := dial(t, addr)
	p.auth()
	return p
}

func (p *peer) auth() {
	p.t.Helper()
	p.do(331, "USER user")
	p.do(230, "PASS password")
	p.do(200, "TYPE I")
}

func (p *peer) send(s string) {
	p.t.Helper()
	p.conn.SetWriteDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(p.conn, s); err != nil {
		p.t.Fatalf("send %q: %v", s, err)
	}
}

// reply reads one reply.
func (p *peer) reply() (wire.Reply, error) {
	p.conn.SetReadDeadline(time.Now().Add(patience))
	var r wire.Reply
	for {
		line, err := p.r.ReadString('\n')
		if err != nil {
			return r, err
		}
		if !strings.HasSuffix(line, "\r\n") {
			return r, fmt.Errorf("line %q does not end in CRLF", line)
		}
		if done, err := r.Add(strings.TrimSuffix(line, "\r\n")); done || err != nil {
			return r, err
		}
	}
}

// want reads one reply, which must have one of the codes.
func (p *peer) want(code int, or ...int) wire.Reply {
	p.t.Helper()
	r, err := p.reply()
	if err != nil {
		p.t.Fatalf("want %d: %v", code, err)
	}
	for _, c := range append(or, code) {
		if r.Code == c {
			return r
		}
	}
	p.t.Fatalf("got %s, want %d", r, code)
	return r
}

// do sends a command and wants a reply of the code.
func (p *peer) do(code int, format string, args ...any) wire.Reply {
	p.t.Helper()
	cmd := fmt.Sprintf(format, args...)
	p.send(cmd + "\r\n")
	r, err := p.reply()
	if err != nil {
		p.t.Fatalf("%s: %v", cmd, err)
	}
	if r.Code != code {
		p.t.Fatalf("%s: got %s, want %d", cmd, r, code)
	}
	return r
}

// passive asks for a data connection with EPSV and makes it.
func (p *peer) passive() *net.TCPConn {
	p.t.Helper()
	port, err := wire.ParseEPSV(p.do(229, "EPSV").Text())
	if err != nil {
		p.t.Fatal(err)
	}
	return p.dialData(port)
}

func (p *peer) dialData(port uint16) *net.TCPConn {
	p.t.Helper()
	host, _, _ := net.SplitHostPort(p.tcp.RemoteAddr().String())
	c, err := net.DialTimeout("tcp", net.JoinHostPort(host, fmt.Sprint(port)), patience)
	if err != nil {
		p.t.Fatal(err)
	}
	p.open = append(p.open, c)
	c.SetDeadline(time.Now().Add(patience))
	return c.(*net.TCPConn)
}

// data wraps a data connection as PROT asks, once 150 has come.
func (p *peer) data(c *net.TCPConn) net.Conn {
	if p.conf == nil {
		return c
	}
	return tls.Client(c, p.conf)
}

// get runs a command that sends data to us and returns the data.
func (p *peer) get(format string, args ...any) []byte {
	p.t.Helper()
	c := p.passive()
	defer c.Close()
	p.do(150, format, args...)
	b, err := io.ReadAll(p.data(c))
	if err != nil {
		p.t.Fatalf("%s: data: %v", fmt.Sprintf(format, args...), err)
	}
	p.want(226)
	return b
}

// put runs a command that takes data from us.
func (p *peer) put(b []byte, format string, args ...any) {
	p.t.Helper()
	c := p.passive()
	p.do(150, format, args...)
	d := p.data(c)
	if _, err := d.Write(b); err != nil {
		p.t.Fatalf("data: %v", err)
	}
	if err := d.Close(); err != nil {
		p.t.Fatalf("data: %v", err)
	}
	p.want(226)
}

// same fails unless got is want.
func same(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got %d bytes %.60q, want %d bytes %.60q", what, len(got), got, len(want), want)
	}
}

// noise returns n bytes that don't repeat.
func noise(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// certify returns the two ends' configurations for a certificate of its own.
func certify(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12},
		&tls.Config{RootCAs: pool, ServerName: "localhost", ClientSessionCache: tls.NewLRUClientSessionCache(4)}
}

// secure starts TLS on the control connection.
func (p *peer) secure(conf *tls.Config) {
	p.t.Helper()
	p.do(234, "AUTH TLS")
	c := tls.Client(&recordConn{Conn: p.tcp}, conf)
	if err := c.Handshake(); err != nil {
		p.t.Fatal(err)
	}
	p.conn, p.r = c, bufio.NewReader(c)
}

// private logs in and asks for private data.
func (p *peer) private(conf *tls.Config) {
	p.t.Helper()
	p.secure(conf)
	p.auth()
	p.do(200, "PBSZ 0")
	p.do(200, "PROT P")
	p.conf = conf
}

// eventually waits until ok holds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

var localhost = netip.MustParseAddr("127.0.0.1")

// unzlib unpacks what came in MODE Z.
func unzlib(t testing.TB, b []byte) []byte {
	t.Helper()
	r, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
