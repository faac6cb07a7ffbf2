//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gate "github.com/linerate/linerate/internal/serve/fastpath/ipsec/gateway"
	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/sa"
	"github.com/linerate/linerate/internal/testnet"
)

// site is a gateway with a network behind it, both in one namespace.
type site struct {
	testnet.End
	inside4, inside6 string
	file             string
}

// sites joins two gateways with a link.
func sites(t *testing.T) (a, b *site) {
	t.Helper()
	l := testnet.NewPair(t, testnet.LinkOptions{})
	a, b = &site{l.A, "10.1.0.1", "fd01::1", ""}, &site{l.B, "10.2.0.1", "fd02::1", ""}
	for _, s := range []*site{a, b} {
		for _, argv := range [][]string{{"ip", "addr", "add", s.inside4 + "/32", "dev", "lo"}, {"ip", "-6", "addr", "add", s.inside6 + "/128", "dev", "lo"}} {
			testnet.NeedTool(t, argv[0])
			if out, err := s.Namespace.Run(t.Context(), argv...); err != nil {
				t.Fatalf("%v: %v\n%s", argv, err, out)
			}
		}
		s.file = filepath.Join(t.TempDir(), "rules.yaml")
	}
	return a, b
}

// tunnel is how two sites protect what is between them.
type tunnel struct {
	suite, key, auth string
	six, udp         bool // outer
	extra            string
	bits4, bits6     int // of the prefixes; 0 is a host
}

// rules writes those of one site; in lists the SPIs it opens, and spi is the one
// it seals with. The keys of an SPI follow from it.
func (w tunnel) rules(t *testing.T, s, peer *site, spi uint32, in ...uint32) {
	t.Helper()
	keys := func(spi uint32) string {
		vary := fmt.Sprintf("%08x", spi)
		text := fmt.Sprintf("{spi: %#x", spi)
		if w.key != "" {
			text += ", key: " + vary + w.key[8:]
		}
		if w.auth != "" {
			text += ", auth_key: " + vary + w.auth[8:]
		}
		return text + "}"
	}
	var text strings.Builder
	text.WriteString("rules:\n")
	if w.bits4 == 0 {
		w.bits4, w.bits6 = 32, 128
	}
	prefix := func(a string, bits int) string { return fmt.Sprintf("%s/%d", a, bits) }
	for _, inner := range [][2]string{{prefix(s.inside4, w.bits4), prefix(peer.inside4, w.bits4)}, {prefix(s.inside6, w.bits6), prefix(peer.inside6, w.bits6)}} {
		local, remote := s.IPv4.Addr(), peer.IPv4.Addr()
		if w.six {
			local, remote = s.IPv6.Addr(), peer.IPv6.Addr()
		}
		fmt.Fprintf(&text, "- local: %s\n  remote: %s\n  with:\n    local: %v\n    remote: %v\n    suite: %s\n    out: %s\n    in:\n", inner[0], inner[1], local, remote, w.suite, keys(spi))
		for _, i := range in {
			fmt.Fprintf(&text, "    - %s\n", keys(i))
		}
		if w.udp {
			text.WriteString("    port: 4500\n")
		}
		text.WriteString(w.extra)
	}
	if err := os.WriteFile(s.file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// up starts the gateway of a site.
func (s *site) up(t *testing.T, args ...string) *testnet.Process {
	t.Helper()
	p, err := s.Namespace.Start(t.Context(), append([]string{os.Args[0], "forward", "ipsec", "up", "--foreground", "--file", s.file}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	if _, err := p.Await(t.Context(), "is up"); err != nil {
		t.Fatalf("%v\n%s", err, p.Output())
	}
	for range 100 {
		if _, err := s.status(); err == nil {
			return p
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("the gateway does not answer: %s", p.Output())
	return nil
}

func (s *site) status() (st gate.Status, err error) {
	out, err := s.Namespace.Run(context.Background(), os.Args[0], "forward", "ipsec", "show", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &st)
	}
	return st, err
}

// carry moves bytes over TCP from a site to another and compares them.
func carry(t *testing.T, from, to *site, source, target string, size int64) {
	t.Helper()
	l, err := to.Namespace.Listen(t.Context(), "tcp", net.JoinHostPort(target, "7000"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan int64, 1)
	go func() {
		var n int64
		defer func() { got <- n }()
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		b := make([]byte, 1<<16)
		for {
			k, err := c.Read(b)
			for i, v := range b[:k] {
				if v != byte((n+int64(i))>>3) {
					n = -1 << 40
				}
			}
			if n += int64(k); err != nil {
				return
			}
		}
	}()
	var c net.Conn
	err = from.Namespace.Do(func() (err error) {
		d := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
		c, err = d.Dial("tcp", net.JoinHostPort(target, "7000"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.Copy(c, &ramp{left: size}); err != nil {
		t.Error(err)
	}
	c.Close()
	if n := <-got; n != size {
		t.Errorf("%s > %s: %d of %d bytes arrived", source, target, n, size)
	}
}

// ramp is bytes that differ by where they are.
type ramp struct{ at, left int64 }

func (r *ramp) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	b = b[:min(int64(len(b)), r.left)]
	for i := range b {
		b[i] = byte((r.at + int64(i)) >> 3)
	}
	r.at, r.left = r.at+int64(len(b)), r.left-int64(len(b))
	return len(b), nil
}

const (
	key20 = "0102030405060708090a0b0c0d0e0f1011121314"
	key16 = "0102030405060708090a0b0c0d0e0f10"
	key32 = key16 + key16
)

// TestIPsecCarries moves bytes both ways through every kind of socket, IPv4 and
// IPv6 in each other.
func TestIPsecCarries(t *testing.T) {
	for name, w := range map[string]tunnel{
		"ESP": {suite: "aes128gcm16", key: key20}, "ESP in UDP": {suite: "aes128gcm16", key: key20, udp: true, extra: "    esn: true\n"},
		"ESP over IPv6": {suite: "chacha20poly1305", key: key16 + key20, six: true}, "ESP in UDP over IPv6": {suite: "aes128-sha256", key: key16, auth: key32, six: true, udp: true},
		"AH": {suite: "sha256", auth: key32, extra: "    protocol: ah\n"}, "AH over IPv6": {suite: "sha256", auth: key32, six: true, extra: "    protocol: ah\n"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := sites(t)
			w.rules(t, a, b, 0x1001, 0x1002)
			w.rules(t, b, a, 0x1002, 0x1001)
			a.up(t)
			b.up(t)
			const size = 4 << 20
			carry(t, a, b, a.inside4, b.inside4, size)
			carry(t, b, a, b.inside6, a.inside6, size)
			for _, s := range []*site{a, b} {
				st, err := s.status()
				if err != nil {
					t.Fatal(err)
				}
				for r, n := range st.Drops {
					if r != sa.NotIPsec {
						t.Errorf("%d packets: %v (%s)", n, r, r.Help())
					}
				}
				if st.Out == 0 || st.In < size/1500 || st.In < 2*st.Super || st.Unsent > 0 || st.Refused > 0 || st.Malformed > 0 {
					t.Errorf("%+v: want packets both ways, few writes, and no loss", st)
				}
			}
		})
	}
}

// TestIPsecTransport protects what two hosts say to each other.
func TestIPsecTransport(t *testing.T) {
	a, b := sites(t)
	for _, s := range [][2]*site{{a, b}, {b, a}} {
		out, in := 0x1001, 0x1002
		if s[0] == b {
			out, in = in, out
		}
		text := fmt.Sprintf("rules:\n- {local: %v/32, remote: %v/32, with: {local: %v, remote: %v, mode: transport, suite: aes128gcm16, out: {spi: %d, key: %s}, in: [{spi: %d, key: %s}]}}\n",
			s[0].IPv4.Addr(), s[1].IPv4.Addr(), s[0].IPv4.Addr(), s[1].IPv4.Addr(), out, key20, in, key20)
		if err := os.WriteFile(s[0].file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := s[0].Namespace.Run(t.Context(), os.Args[0], "forward", "ipsec", "up", "--foreground", "--file", s[0].file); err == nil || !strings.Contains(out, "--underlay") {
			t.Fatalf("packets to the peer would go round, and yet: %v %s", err, out)
		}
		s[0].up(t, "--underlay", s[0].Interface)
	}
	carry(t, a, b, a.IPv4.Addr().String(), b.IPv4.Addr().String(), 4<<20)
	st, err := b.status()
	if err != nil || st.In < 1000 || st.Rules[0].In[0].Mode != "transport" {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestIPsecNarrowPath has a router between the gateways that takes shorter
// packets only: it says so, and from then on senders hear it in time.
func TestIPsecNarrowPath(t *testing.T) {
	for name, w := range map[string]tunnel{"ESP": {suite: "aes128gcm16", key: key20}, "ESP in UDP over IPv6": {suite: "aes128gcm16", key: key20, six: true, udp: true}} {
		t.Run(name, func(t *testing.T) {
			x, router, y := testnet.NewNamespace(t, "x"), testnet.NewNamespace(t, "router"), testnet.NewNamespace(t, "y")
			end := func(four, six string) testnet.EndOptions {
				return testnet.EndOptions{IPv4: netip.MustParsePrefix(four), IPv6: netip.MustParsePrefix(six)}
			}
			first, err := testnet.Connect(x, router, testnet.LinkOptions{A: end("198.18.5.1/24", "fd05::1/64"), B: end("198.18.5.2/24", "fd05::2/64")})
			if err != nil {
				t.Fatal(err)
			}
			second, err := testnet.Connect(router, y, testnet.LinkOptions{MTU: 1400, A: end("198.18.6.1/24", "fd06::1/64"), B: end("198.18.6.2/24", "fd06::2/64")})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"} {
				if err := router.SetSysctl(s, "1"); err != nil {
					t.Fatal(err)
				}
			}
			a, b := &site{first.A, "10.1.0.1", "fd01::1", t.TempDir() + "/a"}, &site{second.B, "10.2.0.1", "fd02::1", t.TempDir() + "/b"}
			for s, via := range map[*site][2]string{a: {"198.18.5.2", "fd05::2"}, b: {"198.18.6.1", "fd06::1"}} {
				inside(t, s.Namespace, "ip", "addr", "add", s.inside4+"/32", "dev", "lo")
				inside(t, s.Namespace, "ip", "addr", "add", s.inside6+"/128", "dev", "lo")
				inside(t, s.Namespace, "ip", "route", "add", "default", "via", via[0])
				inside(t, s.Namespace, "ip", "-6", "route", "add", "default", "via", via[1])
			}
			w.rules(t, a, b, 0x1001, 0x1002)
			w.rules(t, b, a, 0x1002, 0x1001)
			a.up(t)
			b.up(t)
			before, err := a.status()
			if err != nil {
				t.Fatal(err)
			}
			carry(t, a, b, a.inside4, b.inside4, 1<<20)
			carry(t, a, b, a.inside6, b.inside6, 1<<20)
			after, err := a.status()
			if err != nil || after.MTU != before.MTU-100 || after.Rules[0].Out.MTU != 1400 {
				t.Errorf("%v: MTU %d, before %d; path %d, want 1400", err, after.MTU, before.MTU, after.Rules[0].Out.MTU)
			}
		})
	}
}
