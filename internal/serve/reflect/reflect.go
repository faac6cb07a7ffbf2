// Package reflect sends test frames back to where they came from: the far end
// of a link under test (RFC 2544 section 6). MAC and IP addresses and UDP ports
// change places; everything else passes to the stack. It answers ARP and
// neighbour solicitations for addresses that the stack does not have.
package reflect

import (
	"net"
	"net/netip"
	"slices"

	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/result"
)

// Options of a reflector.
type Options struct {
	Any       bool             // also reflect UDP to the echo port without our signature, as stock testers send
	Out       string           // second arm: send out of this interface instead
	NextHop   net.HardwareAddr // destination of what leaves the second arm
	Latency   bool             // measure how long stamped frames took to come here
	Addresses []netip.Prefix   // answer ARP and neighbour solicitations for these
}

// Has reports whether the reflector answers for an address.
func (o Options) Has(a netip.Addr) bool {
	return slices.ContainsFunc(o.Addresses, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Counts are what a reflector did.
type Counts struct {
	Frames, Bytes uint64          // sent back
	Foreign       uint64          // passed to the stack
	Latency       frame.Histogram // one way, of stamped frames; with Options.Latency
	OtherClock    uint64          // stamped frames whose stamp is of another clock than ours
}

// clockApart is the latency from which a stamp is taken to be of another clock:
// on one host, namespaces too, stamps and arrivals are of one.
const clockApart = 10_000_000_000 // ns

// Values are the counts as a meter gives them.
func (c Counts) Values() []result.Value {
	vs := []result.Value{result.ReflectedFrames.Of(float64(c.Frames)), result.ForeignFrames.Of(float64(c.Foreign))}
	for _, q := range []struct {
		name string
		q    float64
	}{{"0.5", 0.5}, {"0.99", 0.99}, {"1", 1}} {
		if c.Latency.N > 0 {
			vs = append(vs, result.FrameLatency.Of(c.Latency.Quantile(q.q)/1e9, "quantile", q.name))
		}
	}
	return vs
}

// swap turns a frame round in place, as the program in the kernel does; udp is
// the offset of the UDP header, ip that of the IP header.
func swap(b []byte, ip, udp int) {
	exchange(b, 0, 6, 6)
	if b[ip]>>4 == 6 {
		exchange(b, ip+8, ip+24, 16)
	} else {
		exchange(b, ip+12, ip+16, 4)
	}
	exchange(b, udp, udp+2, 2)
}

// exchange swaps n bytes at i with those at j.
func exchange(b []byte, i, j, n int) {
	for k := range n {
		b[i+k], b[j+k] = b[j+k], b[i+k]
	}
}
