package capture

import "github.com/linerate/linerate/internal/wire/frame"

// retryAfter is the least time after which a SYN is sent again; sooner it is a
// frame captured twice.
const retryAfter = 100_000_000

// shake keeps what SYNs and first segments say.
func (f *flow) shake(p *frame.Packet, side int, t int64) {
	h := &f.syn[side]
	if p.Options.HasTimestamp && !h.stamped {
		h.stamp, h.stampAt, h.stamped = p.Options.TSval, t, true
	}
	if p.Flags&frame.SYN != 0 {
		if f.client < 0 {
			f.client = int8(side)
			if p.Flags&frame.ACK != 0 {
				f.client = int8(1 - side)
			}
		}
		if h.sent == 0 || t-h.at > retryAfter {
			h.sent = min(h.sent, 254) + 1
		}
		if h.sent == 1 {
			h.at, h.isn = t, p.Seq
		}
		h.mss, h.scale, h.hasScale = p.Options.MSS, p.Options.Scale, p.Options.HasScale
	} else if f.reply == 0 && f.client == int8(side) && p.Flags&frame.ACK != 0 {
		f.reply = t
	}
	if p.Flags&(frame.RST|frame.FIN) != 0 {
		f.closed = true
	}
	h.window = p.Window
}

// reused reports whether a SYN begins another connection on the same ports.
func (f *flow) reused(p *frame.Packet, side int) bool {
	h := &f.syn[side]
	switch {
	case h.sent > 0:
		return p.Seq != h.isn
	case p.Flags&frame.ACK == 0:
		return f.packets[0]+f.packets[1] > 0 && f.syn[1-side].sent == 0
	}
	return false
}
