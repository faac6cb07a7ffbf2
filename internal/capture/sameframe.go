package capture

import "github.com/linerate/linerate/internal/wire/frame"

// recent remembers the last packets of one end, to know a frame that was
// captured twice from a retransmission.
type recent struct {
	sum  [4]uint64
	at   [4]int64
	next uint8
}

// again reports whether the same packet was captured just before. A packet
// without IP identification must carry data to tell it from the next one.
func (r *recent) again(p *frame.Packet, t int64, c *connection) bool {
	if p.ID == 0 && (p.Payload == 0 || !p.Options.HasTimestamp) {
		return false
	}
	const m = 0x9e3779b97f4a7c15
	sum := (uint64(p.Seq)<<32 | uint64(p.Ack)) * m
	sum ^= uint64(p.ID)<<48 | uint64(p.Flags)<<40 | uint64(p.Payload)<<16 | uint64(p.Window)
	sum = sum*m ^ uint64(p.Options.TSval)<<1
	for i := range r.sum {
		if r.sum[i] == sum && r.at[i] > 0 {
			near := int64(1_000_000)
			if least := c.minimum(); least > 0 {
				near = min(near, max(least/4, 20_000))
			}
			if t-r.at[i] < near {
				return true
			}
		}
	}
	r.sum[r.next], r.at[r.next] = sum, t
	r.next = (r.next + 1) & 3
	return false
}
