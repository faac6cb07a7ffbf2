package ftp

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

func TestTLS(t *testing.T) { // RFC 4217
	server, client := certify(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			conf := client.Clone()
			conf.MaxVersion = version
			p := dial(t, serve(t, Config{TLS: server}).addr)
			p.do(503, "PROT P")
			p.do(504, "AUTH KERBEROS_V4")
			p.secure(conf)
			p.do(503, "AUTH TLS")
			p.auth()
			p.do(503, "PROT P") // PBSZ comes first
			p.do(200, "PBSZ 0")
			p.do(504, "PROT X")
			p.do(536, "PROT E")
			p.do(200, "PROT P")
			p.conf = conf
			want := noise(1 << 20)
			p.put(want, "STOR a")
			same(t, "private", p.get("RETR a"), want)
			p.do(200, "PROT C")
			p.conf = nil
			same(t, "in clear", p.get("RETR a"), want)
			p.do(200, "PROT P")
			p.conf = conf
			same(t, "empty listing", p.get("NLST x*"), nil) // close_notify comes for nothing too
		})
	}
}

func TestDataInClearAfterPROTP(t *testing.T) {
	server, client := certify(t)
	p := dial(t, serve(t, Config{TLS: server}).addr)
	p.private(client)
	c := p.passive()
	p.do(150, "STOR a")
	io.WriteString(c, "this is no TLS record, whatever it says\r\n")
	p.want(425)
	p.do(550, "SIZE a")
}

func TestRequireTLS(t *testing.T) { // RFC 4217 10
	server, client := certify(t)
	p := dial(t, serve(t, Config{TLS: server, RequireTLS: true}).addr)
	p.do(530, "USER user")
	p.secure(client)
	p.auth()
	p.do(229, "EPSV")
	p.do(521, "NLST")
	p.do(200, "PBSZ 0")
	p.do(534, "PROT C")
	p.do(534, "CCC")
	p.do(200, "PROT P")
	p.conf = client
	p.get("NLST")
}

func TestRequireReuse(t *testing.T) {
	server, client := certify(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			r := serve(t, Config{TLS: server, RequireReuse: true})
			conf := client.Clone()
			conf.MaxVersion, conf.ClientSessionCache = version, tls.NewLRUClientSessionCache(1)
			p := dial(t, r.addr)
			p.private(conf)
			for range 3 { // resumed from the control connection, and from each other
				p.put([]byte("mine"), "STOR a")
				same(t, "get", p.get("RETR a"), []byte("mine"))
			}
			fresh := conf.Clone()
			fresh.ClientSessionCache = nil
			refused(p, fresh)

			// A session of another control connection does not do either.
			other := conf.Clone()
			other.ClientSessionCache = tls.NewLRUClientSessionCache(1)
			q := dial(t, r.addr)
			q.private(other)
			q.get("NLST")
			refused(p, other)
			same(t, "still", p.get("RETR a"), []byte("mine"))
		})
	}
}

// refused wants a data connection with conf to be turned away.
func refused(p *peer, conf *tls.Config) {
	p.t.Helper()
	c := p.passive()
	p.do(150, "STOR b")
	tls.Client(c, conf).Handshake() // the server may hang up at any point of it
	p.want(522)
	p.do(550, "SIZE b")
}

func TestTruncatedUpload(t *testing.T) { // RFC 8446 6.1
	server, client := certify(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		conf := client.Clone()
		conf.MaxVersion = version
		p := dial(t, serve(t, Config{TLS: server}).addr)
		p.private(conf)
		c := p.passive()
		p.do(150, "STOR a")
		if _, err := p.data(c).Write([]byte("half of it")); err != nil {
			t.Fatal(err)
		}
		c.Close() // no close_notify
		p.want(426)
		p.do(229, "EPSV")
		p.do(550, "RETR a")
		p.do(350, "REST 10")
		p.put([]byte(" and the rest"), "STOR a")
		same(t, "resumed", p.get("RETR a"), []byte("half of it and the rest"))
	}
}

func TestCCC(t *testing.T) { // RFC 4217 12.6
	server, client := certify(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		conf := client.Clone()
		conf.MaxVersion = version
		p := dial(t, serve(t, Config{TLS: server}).addr)
		p.private(conf)
		p.do(200, "CCC")
		p.clear("NOOP\r\n") // behind close_notify at once, as TCP may deliver it
		p.want(200)
		p.put([]byte("still private"), "STOR a")
		same(t, "data after CCC", p.get("RETR a"), []byte("still private"))
		p.do(533, "CCC")
		p.do(220, "REIN")
		p.secure(conf)
		p.auth()
		p.do(220, "REIN") // ends TLS too
		p.clear("")
		p.do(530, "PWD")
	}
}

// clear ends TLS from our side, text right behind it.
func (p *peer) clear(text string) {
	p.t.Helper()
	c := p.conn.(*tls.Conn)
	if err := c.CloseWrite(); err != nil {
		p.t.Fatal(err)
	}
	p.conn = p.tcp
	if text != "" {
		p.send(text)
	}
	c.SetReadDeadline(time.Now().Add(patience))
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		p.t.Fatalf("want close_notify, got %d bytes, %v", n, err)
	}
	p.r = bufio.NewReader(p.tcp)
}

// TestCCCWithoutCloseNotify: some clients just go on in clear.
func TestCCCWithoutCloseNotify(t *testing.T) {
	server, client := certify(t)
	p := dial(t, serve(t, Config{TLS: server}).addr)
	p.private(client)
	p.do(200, "CCC")
	c := p.conn.(*tls.Conn)
	p.conn = p.tcp
	p.send("NOOP\r\n")
	c.SetReadDeadline(time.Now().Add(patience))
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Fatalf("want close_notify, got %d bytes, %v", n, err)
	}
	p.r = bufio.NewReader(p.tcp)
	p.want(200)
	p.do(257, "PWD")
}

func TestCommandsBehindAUTHAreDropped(t *testing.T) { // the injection of CVE-2011-0411
	server, client := certify(t)
	p := dial(t, serve(t, Config{TLS: server}).addr)
	p.send("AUTH TLS\r\nUSER mallory\r\n")
	p.want(234)
	c := tls.Client(p.tcp, client)
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	p.conn, p.r = c, bufio.NewReader(c)
	p.do(503, "PASS password") // no USER came over TLS
	p.auth()
}

func TestImplicitTLS(t *testing.T) {
	server, client := certify(t)
	r := serve(t, Config{TLS: server})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- r.Serve(t.Context(), l, true) }()
	tcp, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := tls.Client(tcp, client)
	p := &peer{t: t, tcp: tcp, conn: c, r: bufio.NewReader(c), conf: client}
	p.want(220)
	p.auth()
	p.put([]byte("x"), "STOR a")
	same(t, "get", p.get("RETR a"), []byte("x"))
	tcp.Close()
	l.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCertificateThatTheClientRefuses(t *testing.T) {
	server, _ := certify(t)
	_, stranger := certify(t)
	r := serve(t, Config{TLS: server})
	p := dial(t, r.addr)
	p.do(234, "AUTH TLS")
	err := tls.Client(p.tcp, stranger).Handshake()
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		t.Fatalf("handshake: %v", err)
	}
	p.tcp.Close()
	login(t, r.addr).do(200, "NOOP")
}
