//go:build lab && linux

package gateway

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec"
	"github.com/linerate/linerate/internal/testnet"
)

// peering is how the kernel and we protect what is between us.
type peering struct {
	name      string
	state     netlink.XfrmState // what both directions share
	suite     string
	key, auth int // bytes
	six       bool
	transport bool
	extra     string
}

func algorithm(name string, n, icv, truncate int) *netlink.XfrmStateAlgo {
	return &netlink.XfrmStateAlgo{Name: name, Key: counting(n), ICVLen: icv, TruncateLen: truncate}
}

func counting(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + 1)
	}
	return b
}

// TestAgainstTheKernel exchanges bytes with the kernel's own ESP and AH, both
// ways; test/lab.sh runs it in a guest whose kernel has them.
func TestAgainstTheKernel(t *testing.T) {
	gcm := netlink.XfrmState{Proto: netlink.XFRM_PROTO_ESP, Aead: algorithm("rfc4106(gcm(aes))", 20, 128, 0)}
	esn := gcm
	esn.ESN, esn.ReplayWindow = true, 256
	udp := gcm
	udp.Encap = &netlink.XfrmStateEncap{Type: netlink.XFRM_ENCAP_ESPINUDP, SrcPort: 4500, DstPort: 4500, OriginalAddress: net.IPv4zero}
	cbc := netlink.XfrmState{Proto: netlink.XFRM_PROTO_ESP, Crypt: algorithm("cbc(aes)", 16, 0, 0), Auth: algorithm("hmac(sha256)", 32, 0, 128)}
	cbcESN := cbc
	cbcESN.ESN, cbcESN.ReplayWindow = true, 64
	null := netlink.XfrmState{Proto: netlink.XFRM_PROTO_ESP, Crypt: algorithm("ecb(cipher_null)", 0, 0, 0), Auth: algorithm("hmac(sha256)", 32, 0, 128)}
	ah := netlink.XfrmState{Proto: netlink.XFRM_PROTO_AH, Auth: algorithm("hmac(sha256)", 32, 0, 128)}
	ahESN := ah
	ahESN.ESN, ahESN.ReplayWindow = true, 64
	gmac := netlink.XfrmState{Proto: netlink.XFRM_PROTO_ESP, Aead: algorithm("rfc4543(gcm(aes))", 20, 128, 0)}
	chacha := netlink.XfrmState{Proto: netlink.XFRM_PROTO_ESP, Aead: algorithm("rfc7539esp(chacha20,poly1305)", 36, 128, 0)}
	for _, p := range []peering{
		{"GCM", gcm, "aes128gcm16", 20, 0, false, false, ""},
		{"GCM over IPv6", gcm, "aes128gcm16", 20, 0, true, false, ""},
		{"GCM, ESN", esn, "aes128gcm16", 20, 0, false, false, "    esn: true\n"},
		{"GCM in UDP", udp, "aes128gcm16", 20, 0, false, false, "    port: 4500\n"},
		{"GCM, transport", gcm, "aes128gcm16", 20, 0, false, true, ""},
		{"GCM, transport, IPv6", gcm, "aes128gcm16", 20, 0, true, true, ""},
		{"CBC", cbc, "aes128-sha256", 16, 32, false, false, ""},
		{"CBC, ESN", cbcESN, "aes128-sha256", 16, 32, false, false, "    esn: true\n"},
		{"NULL", null, "null-sha256", 0, 32, false, false, ""},
		{"GMAC", gmac, "aes128gmac", 20, 0, false, false, ""},
		{"ChaCha20-Poly1305", chacha, "chacha20poly1305", 36, 0, false, false, ""},
		{"AH", ah, "sha256", 0, 32, false, false, "    protocol: ah\n    align8: true\n"},
		{"AH, ESN", ahESN, "sha256", 0, 32, false, false, "    protocol: ah\n    esn: true\n    align8: true\n"},
		{"AH over IPv6", ah, "sha256", 0, 32, true, false, "    protocol: ah\n"},
		{"AH, transport", ah, "sha256", 0, 32, false, true, "    protocol: ah\n    align8: true\n"},
	} {
		t.Run(p.name, func(t *testing.T) { p.run(t) })
	}
}

const spiOurs, spiTheirs = 0x1001, 0x1002

func (p peering) run(t *testing.T) {
	l := testnet.NewPair(t, testnet.LinkOptions{})
	ours, theirs := l.A.IPv4.Addr(), l.B.IPv4.Addr()
	if p.six {
		ours, theirs = l.A.IPv6.Addr(), l.B.IPv6.Addr()
	}
	inOurs, inTheirs := netip.MustParseAddr("10.1.0.1"), netip.MustParseAddr("10.2.0.1")
	if p.six { // Linux wants one family inside and outside, unless told otherwise
		inOurs, inTheirs = netip.MustParseAddr("fd01::1"), netip.MustParseAddr("fd02::1")
	}
	if p.transport {
		inOurs, inTheirs = ours, theirs
	}
	for end, a := range map[testnet.End]netip.Addr{l.A: inOurs, l.B: inTheirs} {
		if err := end.Namespace.Do(func() error { return address(a, p.transport) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.B.Namespace.Do(func() error { return p.kernel(l.B, ours, theirs, inOurs, inTheirs) }); err != nil {
		t.Fatalf("the kernel's: %v", err)
	}
	if p.state.Encap != nil { // the kernel opens what comes by a socket that says so
		c, err := l.B.Namespace.ListenPacket(t.Context(), "udp4", "0.0.0.0:4500")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		raw, _ := c.(*net.UDPConn).SyscallConn()
		const encap, espInUDP = 100, 2 // linux/udp.h
		if cerr := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, encap, espInUDP) }); cerr != nil || err != nil {
			t.Fatal(cerr, err)
		}
	}
	keys := func(spi int) string {
		text := fmt.Sprintf("{spi: %d", spi)
		if p.key > 0 {
			text += ", key: " + hex.EncodeToString(counting(p.key))
		}
		if p.auth > 0 {
			text += ", auth_key: " + hex.EncodeToString(counting(p.auth))
		}
		return text + "}"
	}
	mode := "tunnel"
	if p.transport {
		mode = "transport"
	}
	bits := inOurs.BitLen()
	rules := fmt.Sprintf("rules:\n- local: %v/%d\n  remote: %v/%d\n  with:\n    local: %v\n    remote: %v\n    mode: %s\n    suite: %s\n    out: %s\n    in: [%s]\n%s",
		inOurs, bits, inTheirs, bits, ours, theirs, mode, p.suite, keys(spiOurs), keys(spiTheirs), p.extra)
	file := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	var g *Gateway
	if err := l.A.Namespace.Do(func() (err error) {
		g, err = Open(Options{File: file, Underlay: l.A.Interface})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		g.Close()
	}()
	t.Cleanup(func() {
		if t.Failed() {
			_ = l.B.Namespace.Do(func() error {
				text, err := os.ReadFile("/proc/thread-self/net/xfrm_stat")
				for line := range strings.Lines(string(text)) {
					if f := strings.Fields(line); len(f) == 2 && f[1] != "0" {
						t.Logf("the kernel: %v", f)
					}
				}
				return err
			})
		}
	})
	defer func() {
		if t.Failed() {
			s := g.Status(context.Background())
			t.Logf("ours: %+v, out %+v, in %+v", s, s.Rules[0].Out, s.Rules[0].In)
		}
	}()
	echo(t, l.A.Namespace, inOurs, l.B.Namespace, inTheirs)
	echo(t, l.B.Namespace, inTheirs, l.A.Namespace, inOurs)
	s := g.Status(t.Context())
	if s.In < 50 || s.Out < 50 || len(s.Rules[0].In[0].Drops) > 0 {
		t.Errorf("%+v, in %+v", s, s.Rules[0].In[0])
	}
	p.read(t, l.B.Namespace)
}

func address(a netip.Addr, there bool) error {
	if there {
		return nil
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.AddrAdd(lo, &netlink.Addr{IPNet: wide(a)})
}

// wide is the prefix of one address.
func wide(a netip.Addr) *net.IPNet {
	return &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(a.BitLen(), a.BitLen())}
}

// kernel gives the kernel its associations, policies and route.
func (p peering) kernel(e testnet.End, ours, theirs, inOurs, inTheirs netip.Addr) error {
	mode := netlink.XFRM_MODE_TUNNEL
	if p.transport {
		mode = netlink.XFRM_MODE_TRANSPORT
	}
	for _, way := range []struct {
		spi      int
		src, dst netip.Addr
		from, to netip.Addr
		dirs     []netlink.Dir
	}{{spiOurs, ours, theirs, inOurs, inTheirs, []netlink.Dir{netlink.XFRM_DIR_IN, netlink.XFRM_DIR_FWD}},
		{spiTheirs, theirs, ours, inTheirs, inOurs, []netlink.Dir{netlink.XFRM_DIR_OUT}}} {
		s := p.state
		s.Src, s.Dst, s.Spi, s.Mode, s.Reqid = way.src.AsSlice(), way.dst.AsSlice(), way.spi, mode, 7
		if s.ReplayWindow == 0 {
			s.ReplayWindow = 32
		}
		if err := netlink.XfrmStateAdd(&s); err != nil {
			return fmt.Errorf("association: %w", err)
		}
		for _, d := range way.dirs {
			if p.transport && p.six { // sealed, neighbour discovery would not find where to send it
				bypass := &netlink.XfrmPolicy{Src: wide(way.from), Dst: wide(way.to), Dir: d, Proto: unix.IPPROTO_ICMPV6, Priority: 1}
				if err := netlink.XfrmPolicyAdd(bypass); err != nil {
					return fmt.Errorf("policy: %w", err)
				}
			}
			policy := &netlink.XfrmPolicy{Src: wide(way.from), Dst: wide(way.to), Dir: d, Priority: 100,
				Tmpls: []netlink.XfrmPolicyTmpl{{Src: way.src.AsSlice(), Dst: way.dst.AsSlice(), Proto: p.state.Proto, Mode: mode, Reqid: 7}}}
			if err := netlink.XfrmPolicyAdd(policy); err != nil {
				return fmt.Errorf("policy: %w", err)
			}
		}
	}
	if p.transport {
		return nil
	}
	link, err := netlink.LinkByName(e.Interface)
	if err != nil {
		return err
	}
	via := netlink.Route{LinkIndex: link.Attrs().Index, Dst: wide(inOurs), Src: inTheirs.AsSlice(), Scope: netlink.SCOPE_LINK}
	return netlink.RouteAdd(&via)
}

// echo sends bytes and wants them back.
func echo(t *testing.T, from *testnet.Namespace, source netip.Addr, to *testnet.Namespace, target netip.Addr) {
	t.Helper()
	l, err := to.Listen(t.Context(), "tcp", netip.AddrPortFrom(target, 7).String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = io.Copy(c, c)
			c.Close()
		}
	}()
	var c net.Conn
	if err := from.Do(func() (err error) {
		d := net.Dialer{Timeout: 30 * time.Second, LocalAddr: &net.TCPAddr{IP: source.AsSlice()}}
		c, err = d.Dial("tcp", netip.AddrPortFrom(target, 7).String())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(60 * time.Second))
	want := bytes.Repeat([]byte("what goes in comes out "), 3_000)
	go func() {
		_, _ = c.Write(want)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v > %v: %d of %d bytes came back: %v", source, target, len(got), len(want), err)
	}
}

// read has the kernel's database make rules, and builds them.
func (p peering) read(t *testing.T, n *testnet.Namespace) {
	t.Helper()
	var c *ipsec.Config
	if err := n.Do(func() (err error) { c, err = ipsec.Kernel(); return err }); err != nil {
		t.Fatal(err)
	}
	defer c.Wipe()
	d, err := ipsec.NewDatabase()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Replace(c); err != nil {
		t.Fatal(err)
	}
	s := d.Status(t.Context())
	if len(s.Rules) == 0 {
		t.Fatal("the kernel's database is read as empty")
	}
	r := s.Rules[len(s.Rules)-1] // behind what bypasses
	if r.Out == nil || r.Out.SPI != spiTheirs || r.Out.Suite != p.suite || len(r.In) != 1 || r.In[0].SPI != spiOurs || r.Out.Sequence == 0 || strings.Contains(fmt.Sprintf("%+v", c), "01020304") {
		t.Errorf("the kernel's database is read as %+v", s)
	}
}
