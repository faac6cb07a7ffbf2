//go:build linux

package testnet

import (
	"math"
	"net"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/wire/frame"
)

// A shaped veth is a line: TCP's goodput over it is that of IEEE 802.3
// arithmetic. A busy machine can only make it slower, so the best of some
// tries is judged from below and every try from above.
func TestShapeIsALine(t *testing.T) {
	for _, c := range []struct {
		name    string
		rate    float64
		mtu     int
		offload Offload
	}{
		{"GbE", 1e9, StandardMTU, OffloadDefault},
		{"GbE without offloads", 1e9, StandardMTU, OffloadSegments},
		{"fast Ethernet", 1e8, StandardMTU, OffloadDefault},
		{"GbE jumbo", 1e9, JumboMTU, OffloadDefault},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := NewPair(t, LinkOptions{MTU: c.mtu, Offload: c.offload})
			if err := l.B.Shape(c.rate); err != nil {
				t.Fatal(err)
			}
			want := frame.Stack{Timestamps: true}.Goodput(c.rate, c.mtu)
			best := 0.0
			for range 5 {
				got := goodput(t, l)
				if got > want*1.005 {
					t.Errorf("goodput %.2f Mbit/s is above the line's %.2f", got/1e6, want/1e6)
				}
				best = max(best, got)
				if math.Abs(best-want) < 0.01*want {
					break
				}
			}
			t.Logf("goodput %.2f Mbit/s, line limit %.2f", best/1e6, want/1e6)
			if best < 0.99*want {
				t.Errorf("goodput %.2f Mbit/s, want within 1 %% of %.2f", best/1e6, want/1e6)
			}
		})
	}
}

// goodput receives for a while at A what B sends, after the bucket's first
// burst has passed, and returns bit/s.
func goodput(t *testing.T, l *Link) float64 {
	at := serve(t, l.B.Namespace, l.B.IPv4.Addr().String(), func(c net.Conn) {
		buf := make([]byte, 128<<10)
		for {
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	})
	c, err := l.A.Namespace.DialContext(t.Context(), "tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	receive := func(d time.Duration) (n int64, took time.Duration) {
		start := time.Now()
		buf := make([]byte, 256<<10)
		for time.Since(start) < d {
			k, err := c.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			n += int64(k)
		}
		return n, time.Since(start)
	}
	receive(300 * time.Millisecond)
	n, took := receive(700 * time.Millisecond)
	return float64(n) * 8 / took.Seconds()
}
