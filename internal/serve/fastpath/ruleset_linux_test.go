package fastpath

import (
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/testnet"
)

// TestWhatDecidesBesideRoutes: each thing that may decide on forwarded packets
// beside their addresses is seen, and its absence too.
func TestWhatDecidesBesideRoutes(t *testing.T) {
	testnet.NeedRoot(t)
	box := testnet.NewNamespace(t, "box")
	var r *ruleset
	if err := box.Do(func() (err error) { r, err = openRuleset(); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.close() })
	for _, c := range []struct {
		do   string
		want bool
	}{
		{"true", false},
		{"ip rule add from 10.9.0.0/16 table 7", false},
		{"ip rule add ipproto udp dport 53 table 7", true},
		{"ip rule del ipproto udp dport 53 table 7", false},
		{"ip -6 rule add fwmark 1 table 7", true},
		{"ip -6 rule del fwmark 1 table 7", false},
		{"nft add table ip a", false},
		{"nft add chain ip a arriving { type filter hook input priority 0 ; }", false},
		{"nft add chain ip a through { type filter hook forward priority 0 ; }", true},
		{"nft delete chain ip a through", false},
		{"nft add chain ip a before { type filter hook prerouting priority 0 ; }", true},
		{"nft flush ruleset", false},
	} {
		if out, err := box.Run(t.Context(), strings.Fields(c.do)...); err != nil {
			t.Fatalf("%s: %v\n%s", c.do, err, out)
		}
		if got, err := r.filters(); err != nil || got != c.want {
			t.Errorf("after %q: %v, %v, want %v", c.do, got, err, c.want)
		}
	}
}
