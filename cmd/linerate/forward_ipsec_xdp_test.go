//go:build linux

package main

import (
	"net/netip"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/sa"
	"github.com/linerate/linerate/internal/testnet"
)

// offices is two hosts behind two gateways in a row.
type offices struct {
	left, right *site     // the hosts
	a, b        *site     // the gateways' outer ends
	xdp         [2]string // all interfaces of each
}

func newOffices(t *testing.T) offices {
	t.Helper()
	var n [4]*testnet.Namespace
	for i, name := range []string{"left", "a", "b", "right"} {
		n[i] = testnet.NewNamespace(t, name)
	}
	connect := func(a, b *testnet.Namespace, a4, b4, a6, b6 string) *testnet.Link {
		l, err := testnet.Connect(a, b, testnet.LinkOptions{A: testnet.EndOptions{IPv4: netip.MustParsePrefix(a4), IPv6: netip.MustParsePrefix(a6)},
			B: testnet.EndOptions{IPv4: netip.MustParsePrefix(b4), IPv6: netip.MustParsePrefix(b6)}})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []testnet.End{l.A, l.B} {
			inside(t, e.Namespace, "ethtool", "-K", e.Interface, "gro", "on", "tx", "off")
		}
		return l
	}
	first := connect(n[0], n[1], "10.1.0.2/16", "10.1.0.1/16", "fd01::2/64", "fd01::1/64")
	middle := connect(n[1], n[2], "198.18.9.1/24", "198.18.9.2/24", "fd00:9::1/64", "fd00:9::2/64")
	last := connect(n[2], n[3], "10.2.0.1/16", "10.2.0.2/16", "fd02::1/64", "fd02::2/64")
	for _, gateway := range []*testnet.Namespace{n[1], n[2]} {
		for _, s := range []string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"} {
			if err := gateway.SetSysctl(s, "1"); err != nil {
				t.Fatal(err)
			}
		}
	}
	inside(t, n[0], "ip", "route", "add", "default", "via", "10.1.0.1")
	inside(t, n[0], "ip", "-6", "route", "add", "default", "via", "fd01::1")
	inside(t, n[3], "ip", "route", "add", "default", "via", "10.2.0.1")
	inside(t, n[3], "ip", "-6", "route", "add", "default", "via", "fd02::1")
	return offices{&site{End: first.A}, &site{End: last.B}, &site{middle.A, "10.1.0.0", "fd01::", t.TempDir() + "/a.yaml"}, &site{middle.B, "10.2.0.0", "fd02::", t.TempDir() + "/b.yaml"},
		[2]string{first.B.Interface + "," + middle.A.Interface, middle.B.Interface + "," + last.A.Interface}}
}

func inside(t *testing.T, n *testnet.Namespace, argv ...string) {
	t.Helper()
	testnet.NeedTool(t, argv[0])
	if out, err := n.Run(t.Context(), argv...); err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
}

// TestIPsecPastTheStack moves bytes by AF_XDP both ways, and by the stack as
// soon as it has rules.
func TestIPsecPastTheStack(t *testing.T) {
	for name, w := range map[string]tunnel{
		"ESP": {suite: "aes128gcm16", key: key20}, "ESP in UDP over IPv6": {suite: "aes128gcm16", key: key20, six: true, udp: true},
		"AH over IPv6": {suite: "sha256", auth: key32, six: true, extra: "    protocol: ah\n"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffices(t)
			w.bits4, w.bits6 = 16, 64
			w.rules(t, o.a, o.b, 0x1001, 0x1002)
			w.rules(t, o.b, o.a, 0x1002, 0x1001)
			o.a.up(t, "--xdp", o.xdp[0])
			o.b.up(t, "--xdp", o.xdp[1])
			const size = 4 << 20
			both := func() {
				carry(t, o.left, o.right, "10.1.0.2", "10.2.0.2", size)
				carry(t, o.right, o.left, "fd02::2", "fd01::2", size)
			}
			both()
			var past uint64
			for _, s := range []*site{o.a, o.b} {
				st, err := s.status()
				if err != nil {
					t.Fatal(err)
				}
				for r, n := range st.Drops {
					if r != sa.NotIPsec && (r != sa.NoPolicy || n > 4) { // a router reports its groups (RFC 3810)
						t.Errorf("%d packets: %v", n, r)
					}
				}
				if !st.PastStack || st.Past < 2*size/1500 || st.Unsent > 0 {
					t.Errorf("%+v: want most packets past the stack, and no loss", st)
				}
				past = st.Past
			}
			inside(t, o.b.Namespace, "nft", "add table inet f; add chain inet f c { type filter hook forward priority 0; }; add rule inet f c counter")
			time.Sleep(300 * time.Millisecond)
			before, _ := o.b.status()
			both()
			st, err := o.b.status()
			if err != nil || st.PastStack || st.Past > before.Past || before.Past < past {
				t.Errorf("with a rule: %+v, before %d: want nothing past the stack", st, before.Past)
			}
		})
	}
}
