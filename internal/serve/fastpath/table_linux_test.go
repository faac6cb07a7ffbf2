package fastpath

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"
)

// plainTable is a table without a kernel.
func plainTable(flows int) *table {
	return &table{ways: make([]programWay, placesPer*flows), seed: seed, resting: map[uint32]bool{}}
}

// someConnection makes the n-th of many that differ in little.
func someConnection(n int) Connection {
	source := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(n >> 14), 2}), uint16(1024+n&0x3fff))
	target := netip.MustParseAddrPort("10.2.0.2:53")
	if n&1 == 1 {
		source = netip.AddrPortFrom(netip.MustParseAddr(fmt.Sprintf("fd01::%x", n>>14)), source.Port())
		target = netip.MustParseAddrPort("[fd02::2]:53")
	}
	o := Tuple{source, target, udp}
	return Connection{o, o.turned()}
}

// TestTableFills: connections that differ in little find places up to the
// last but few, and each is found again.
func TestTableFills(t *testing.T) {
	const flows = 1 << 14
	tab := plainTable(flows)
	refused := 0
	for n := range flows {
		if err := tab.add(someConnection(n)); err != nil {
			refused++
		}
	}
	if refused > flows/500 {
		t.Errorf("%d of %d had no place", refused, flows)
	}
	if got := len(tab.connections()); got != tab.held || got != flows-refused {
		t.Errorf("%d read back, %d held, %d added", got, tab.held, flows-refused)
	}
}

// TestTableAgainstMap: after any adding and ending the table holds what a map
// would, also when places are used again.
func TestTableAgainstMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tab := plainTable(64)
	want := map[Connection]bool{}
	for range 20_000 {
		c := someConnection(r.IntN(200))
		if r.IntN(3) == 0 {
			c.Reply.Target = netip.AddrPortFrom(c.Reply.Target.Addr(), uint16(5000+r.IntN(2))) // NAT
		}
		if r.IntN(2) == 0 {
			tab.end(c)
			for held := range want {
				if held.Original == c.Original {
					delete(want, held)
				}
			}
		} else {
			err := tab.add(c)
			for held := range want {
				if held.Original == c.Original {
					delete(want, held) // NAT made something else of it
				}
			}
			want[c] = err == nil
			if err != nil {
				delete(want, c)
			}
		}
		for i := range tab.fallow {
			tab.fallow[i].from = time.Time{}
		}
		if len(want) != tab.held {
			t.Fatalf("%d held, want %d", tab.held, len(want))
		}
	}
	for c := range want {
		if !tab.has(c) {
			t.Errorf("%v is lost", c)
		}
	}
}

func BenchmarkAddEnd(b *testing.B) {
	tab := plainTable(1 << 16)
	for b.Loop() {
		c := someConnection(1)
		if err := tab.add(c); err != nil {
			b.Fatal(err)
		}
		tab.end(c)
		tab.fallow, tab.resting = tab.fallow[:0], map[uint32]bool{}
	}
}
