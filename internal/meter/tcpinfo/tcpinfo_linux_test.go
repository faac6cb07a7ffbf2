package tcpinfo

import (
	"io"
	"net"
	"testing"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/result"
)

// pair returns both ends of a TCP connection over loopback.
func pair(t *testing.T) (client, server *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); s.Close() })
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

// send moves n bytes from c to s.
func send(t *testing.T, c, s *net.TCPConn, n int64) {
	t.Helper()
	go c.Write(make([]byte, n))
	if _, err := io.CopyN(io.Discard, s, n); err != nil {
		t.Fatal(err)
	}
}

func TestSocketsKeepWhatEndedConnectionsCounted(t *testing.T) {
	var socks Sockets
	for range 2 {
		c, s := pair(t)
		stop, err := socks.Track("data", c)
		if err != nil {
			t.Fatal(err)
		}
		send(t, c, s, 100_000)
		s.Write([]byte{1}) // acknowledges what was sent
		io.ReadFull(c, make([]byte, 1))
		stop()
		stop() // harmless
		c.Close()
	}
	c, s := pair(t)
	if _, err := socks.Track("data", s); err != nil {
		t.Fatal(err)
	}
	send(t, c, s, 5_000)
	vs, err := socks.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	acked, _ := result.Get(vs, result.TCPBytesAcked, "flow", "data")
	received, _ := result.Get(vs, result.TCPBytesReceived, "flow", "data")
	// The handshake's SYN counts as one acknowledged byte at the client.
	if acked < 200_000 || acked > 200_004 || received != 5_002 {
		t.Errorf("acknowledged %v, received %v; want 200000 and 5002", acked, received)
	}
	s.Close()
	if _, err := socks.Read(t.Context()); err != nil {
		t.Errorf("a connection closed before stop: %v", err)
	}
}

// TestMeterAgrees compares the kernel's dump of a socket with the socket's own
// TCP_INFO.
func TestMeterAgrees(t *testing.T) {
	c, s := pair(t)
	send(t, c, s, 300_000)
	var socks Sockets
	stop, err := socks.Track("x", s)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	own, err := socks.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Live()
	if err != nil {
		t.Fatal(err)
	}
	all, err := Meter{h, uint16(s.LocalAddr().(*net.TCPAddr).Port)}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	flow := s.LocalAddr().String() + "-" + s.RemoteAddr().String()
	for _, v := range own {
		m, _ := result.Lookup(v.Metric)
		kv := []string{"flow", flow}
		if w, ok := v.Labels["window"]; ok {
			kv = append(kv, "window", w)
		}
		if got, ok := result.Get(all, m, kv...); !ok || got != v.V {
			t.Errorf("%s %v: own %v, dumped %v (%v)", v.Metric, kv, v.V, got, ok)
		}
	}
	if n, ok := result.Get(all, result.TCPBytesReceived, "flow", flow); !ok || n != 300_000 {
		t.Errorf("received %v, %v; want 300000", n, ok)
	}
}

// TestMeterInNamespace wants connections of a namespace seen there and not
// outside.
func TestMeterInNamespace(t *testing.T) {
	link := testnet.NewPair(t, testnet.LinkOptions{})
	l, err := link.B.Namespace.Listen(t.Context(), "tcp", net.JoinHostPort(link.B.IPv4.Addr().String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := link.A.Namespace.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	inside, err := host.LiveIn(link.A.Namespace.Do)
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	outside, err := host.Live()
	if err != nil {
		t.Fatal(err)
	}
	flow := c.LocalAddr().String() + "-" + c.RemoteAddr().String()
	for where, h := range map[string]host.Host{"inside": inside, "outside": outside} {
		vs, err := Meter{Host: h}.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if mss, ok := result.Get(vs, result.TCPMSS, "flow", flow); ok != (where == "inside") || ok && mss != 1448 {
			t.Errorf("%s: MSS %v, %v", where, mss, ok)
		}
	}
}
