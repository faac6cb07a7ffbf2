package frame

import (
	"net"
	"net/netip"
	"testing"
)

func TestNeighbourRoundTrip(t *testing.T) {
	asker, owner := net.HardwareAddr{2, 0, 0, 0, 0, 1}, net.HardwareAddr{2, 0, 0, 0, 0, 2}
	for _, c := range [][2]string{{"198.18.1.2", "198.18.1.1"}, {"2001:2::2", "2001:2::1"}} {
		from, target := netip.MustParseAddr(c[0]), netip.MustParseAddr(c[1])
		q, ok := ParseNeighbour(Request(asker, from, target))
		if !ok || q.Reply || q.Sender != from || q.Target != target || q.MAC.String() != asker.String() {
			t.Fatalf("request: %+v, %v", q, ok)
		}
		a, ok := ParseNeighbour(q.Answer(owner))
		if !ok || !a.Reply || a.Sender != target || a.Target != from || a.MAC.String() != owner.String() {
			t.Errorf("answer: %+v, %v", a, ok)
		}
	}
}

func FuzzParseNeighbour(f *testing.F) {
	f.Add(Request(make(net.HardwareAddr, 6), netip.MustParseAddr("198.18.1.2"), netip.MustParseAddr("198.18.1.1")))
	f.Add(Request(make(net.HardwareAddr, 6), netip.MustParseAddr("2001:2::2"), netip.MustParseAddr("2001:2::1")))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, ok := ParseNeighbour(b); ok && !n.Reply {
			if a, ok := ParseNeighbour(n.Answer(net.HardwareAddr{2, 0, 0, 0, 0, 9})); !ok || a.Sender != n.Target {
				t.Errorf("%+v answered by %+v", n, a)
			}
		}
	})
}
