//go:build linux

package testnet

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/wire/frame"
)

// A shaped veth is a line: what leaves it, counted with preamble, gap and FCS,
// is the rate, in frames of at most an MTU. Uncounted, preamble, gap and FCS
// would make it 1.6 % faster. A busy machine makes it slower, so the best of
// some tries counts.
func TestShapeIsALine(t *testing.T) {
	for _, c := range []struct {
		name    string
		rate    float64
		mtu     int
		offload Offload
	}{
		{"fast Ethernet", 1e8, StandardMTU, OffloadDefault},
		{"without offloads", 1e8, StandardMTU, OffloadSegments},
		{"without checksums", 1e8, StandardMTU, OffloadNone},
		{"jumbo frames", 2e8, JumboMTU, OffloadDefault},
	} {
		const least, most = 0.95, 1.01 // a burst after a stall is 0.5 % of a try
		t.Run(c.name, func(t *testing.T) {
			l := NewPair(t, LinkOptions{MTU: c.mtu, Offload: c.offload})
			if err := l.B.Shape(c.rate); err != nil {
				t.Fatal(err)
			}
			stream(t, l)
			best := 0.0
			for range 10 {
				share, mean := occupancy(t, l.B, c.rate)
				best = max(best, share)
				if share > most {
					t.Errorf("%.2f %% of the line's rate", 100*share)
				}
				if full := float64(c.mtu + frame.HeaderBytes); mean > full || mean < 0.9*full {
					t.Errorf("mean frame of %.0f bytes, want just below %.0f", mean, full)
				}
				if best > least {
					break
				}
			}
			t.Logf("%.2f %% of the line's rate", 100*best)
			if best < least {
				t.Errorf("at best %.2f %% of the line's rate", 100*best)
			}
		})
	}
}

// stream sends from B to A for as long as the test runs.
func stream(t *testing.T, l *Link) {
	at := serve(t, l.A.Namespace, l.A.IPv4.Addr().String(), func(c net.Conn) { io.Copy(io.Discard, c) })
	c, err := l.B.Namespace.DialContext(t.Context(), "tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		buf := make([]byte, 128<<10)
		for {
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	}()
	time.Sleep(300 * time.Millisecond) // the bucket's first burst, slow start
}

// occupancy returns how much of the line's rate one end used over a while, and
// the mean length of its frames.
func occupancy(t *testing.T, e End, rate float64) (share, mean float64) {
	begin := time.Now()
	before, err := e.Counters()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(400 * time.Millisecond)
	after, err := e.Counters()
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(begin).Seconds()
	frames, bytes := float64(after.TxFrames-before.TxFrames), float64(after.TxBytes-before.TxBytes)
	return 8 * (bytes + frames*(frame.FCS+frame.Gap)) / took / rate, bytes / frames
}

func TestShapeLifts(t *testing.T) {
	l := NewPair(t, LinkOptions{})
	if err := l.B.Shape(1e7); err != nil {
		t.Fatal(err)
	}
	if err := l.B.Shape(2e7); err != nil {
		t.Errorf("a second rate: %v", err)
	}
	if err := l.B.Shape(0); err != nil {
		t.Errorf("lift: %v", err)
	}
	stream(t, l)
	if share, _ := occupancy(t, l.B, 2e7); share < 2 {
		t.Errorf("still %.2f of the rate that was lifted", share)
	}
	if err := l.B.Shape(1); err == nil {
		t.Error("a rate of one bit a second was taken")
	}
}
