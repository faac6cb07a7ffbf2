//go:build linux

package main

import (
	"fmt"
	"net/netip"
	"os"
	"testing"

	"github.com/linerate/linerate/internal/testnet"
)

// TestIPsecWithStrongSwan has strongSwan agree on keys with itself, and takes
// over one end's packets: what it opens and seals is sealed and opened by
// strongSwan's own ESP at the other.
func TestIPsecWithStrongSwan(t *testing.T) {
	a, b := sites(t)
	for _, s := range []*site{a, b} { // XDP at one end: see newRouter
		inside(t, s.Namespace, "ethtool", "-K", s.Interface, "gro", "on", "tx", "off")
	}
	host := func(a string) netip.Prefix { return netip.MustParsePrefix(a + "/32") }
	testnet.StartCharon(t, b.Namespace, testnet.CharonOptions{Local: b.IPv4.Addr(), Remote: a.IPv4.Addr(), LocalTS: host(b.inside4), RemoteTS: host(a.inside4)})
	c := testnet.StartCharon(t, a.Namespace, testnet.CharonOptions{Local: a.IPv4.Addr(), Remote: b.IPv4.Addr(), LocalTS: host(a.inside4), RemoteTS: host(b.inside4),
		Initiate: true})
	k, err := c.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rules := fmt.Sprintf("rules:\n- {local: %s/32, remote: %s/32, with: {local: %v, remote: %v, suite: aes128gcm16, port: 4500, out: {spi: 0x%s, key: %s}, in: [{spi: 0x%s, key: %s}]}}\n",
		a.inside4, b.inside4, a.IPv4.Addr(), b.IPv4.Addr(), k.OutSPI, k.Out, k.InSPI, k.In)
	if err := os.WriteFile(a.file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	inside(t, a.Namespace, "ip", "route", "flush", "table", "220") // strongSwan's own
	a.up(t, "--xdp", a.Interface)
	const size = 1 << 20
	carry(t, a, b, a.inside4, b.inside4, size)
	carry(t, b, a, b.inside4, a.inside4, size)
	st, err := a.status()
	if err != nil || st.In < size/1500 || st.Out < size/1500 || len(st.Rules[0].In[0].Drops) > 0 {
		t.Errorf("%+v, %v", st, err)
	}
}
