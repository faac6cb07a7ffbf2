package capture

import "github.com/linerate/linerate/internal/wire/frame"

// connection is a flow that carries TCP payload: up to two senders and what
// they share.
type connection struct {
	flow         *flow
	senders      [2]*sender // nil until that end sends payload
	timestamps   bool
	optionsCut   bool
	oneWay       [2]oneWay // by the end that sent
	seen         [2]recent
	duplicates   int64 // frames captured twice
	frames       int64
	tooBig       int64 // ICMP "fragmentation needed" and "packet too big"
	ended        int64 // time of the last frame of all when it was judged
	resets       int64
	since        int64 // the clock was set: earlier times do not compare with later ones
	quiet        [2]quiet
	older, newer *connection // order of use
}

// segmentLimit is the payload that the MSS options allow (RFC 9293 3.7.1), 0
// where no handshake was captured.
func (c *connection) segmentLimit() int {
	a, b := int(c.flow.syn[0].mss), int(c.flow.syn[1].mss)
	n := min(a, b)
	if n == 0 {
		n = max(a, b)
	}
	if n > 0 && c.timestamps {
		n -= 12
	}
	return max(n, 0)
}

// scale returns the shift of the windows that an end advertises: none unless
// both SYNs offered scaling (RFC 7323 2.2). known is false where a SYN that
// would tell is missing.
func (f *flow) scale(side int) (shift uint8, known bool) {
	own, other := &f.syn[side], &f.syn[1-side]
	switch {
	case own.sent > 0 && other.sent > 0:
		if own.hasScale && other.hasScale {
			return own.scale, true
		}
		return 0, true
	case own.sent > 0 && !own.hasScale || other.sent > 0 && !other.hasScale:
		return 0, true
	case own.sent > 0:
		return own.scale, true // its peer most likely agreed
	}
	return 0, false
}

// unscaled reports whether the windows offered to s have an unknown shift.
func (c *connection) unscaled(s *sender) bool {
	side := 0
	if c.senders[1] == s {
		side = 1
	}
	_, known := c.flow.scale(1 - side)
	return !known
}

// other returns the sender at the other end, nil where it sends nothing.
func (c *connection) other(s *sender) *sender {
	if c.senders[0] == s {
		return c.senders[1]
	}
	return c.senders[0]
}

// packet takes a captured segment sent by one end.
func (c *connection) packet(p *frame.Packet, side int, t int64, no uint32) {
	c.frames++
	if c.seen[side].again(p, t, c) {
		c.duplicates++
		return
	}
	o := &p.Options
	if o.HasTimestamp {
		c.timestamps = true
		c.oneWay[side].add(o, t, &c.flow.syn[side], &c.oneWay[1-side], &c.flow.syn[1-side])
	}
	c.optionsCut = c.optionsCut || o.Cut
	c.quiet[side].heard(t)
	c.quiet[1-side].asked(t, p.Payload > 0 || p.Flags&frame.FIN != 0)
	if p.Flags&frame.SYN != 0 {
		return // the flow has kept what it says
	}
	if p.Flags&frame.RST != 0 {
		c.resets++
		if s := c.senders[side]; s != nil {
			s.empty(p, t, no, &c.quiet[1-side])
		}
		return
	}
	peer := c.senders[1-side]
	if p.Flags&frame.ACK != 0 && peer != nil {
		shift, _ := c.flow.scale(side)
		peer.captured(c, p, shift, t, no)
	}
	if p.Payload == 0 && p.Flags&frame.FIN == 0 {
		if s := c.senders[side]; s != nil {
			s.empty(p, t, no, &c.quiet[1-side])
		}
		return
	}
	s := c.senders[side]
	if s == nil {
		if p.Payload == 0 {
			return // a FIN without data before it
		}
		s = c.newSender(side, p)
	}
	s.data(c, p, t, no)
	if peer != nil && p.Payload > 0 {
		peer.turns.reply = true
	}
}

// newSender begins a direction with what the handshake told.
func (c *connection) newSender(side int, p *frame.Packet) *sender {
	s := &sender{}
	if !c.timestamps {
		s.unstamped = &unstamped{}
	}
	c.senders[side] = s
	own, other := &c.flow.syn[side], &c.flow.syn[1-side]
	if own.sent > 0 {
		s.start(own.isn + 1)
	} else {
		s.start(p.Seq)
	}
	s.loss.handshake = int64(max(own.sent, 1)) - 1
	s.loss.retransmits += s.loss.handshake
	if other.window > 0 {
		// The window field of a SYN is never scaled (RFC 7323 2.2).
		shift, known := c.flow.scale(1 - side)
		if c.flow.reply == 0 && other.sent > 0 {
			shift = 0
		}
		if known {
			s.window = uint32(other.window) << shift
			s.edge = s.next + int64(s.window)
		}
	}
	f := c.flow
	if f.client >= 0 && f.reply > 0 && f.syn[0].sent == 1 && f.syn[1].sent == 1 {
		client, server := f.syn[f.client].at, f.syn[1-f.client].at
		if int(f.client) == side {
			s.loop.limitDown(server - client)
			s.loop.limitUp(f.reply - server)
		} else {
			s.loop.limitDown(f.reply - server)
			s.loop.limitUp(server - client)
		}
		if !c.timestamps {
			// A single sample, with the client's first wake-up in it: too long
			// a lag would put data before the acknowledgement that released it.
			s.loop.lag -= s.loop.lag / 8
		}
		s.loop.where = s.loop.vantage()
	}
	return s
}

// minimum is the shortest round trip known of either direction.
func (c *connection) minimum() int64 {
	var least int64
	for _, s := range c.senders {
		if s != nil {
			if d := s.loop.minimum(); d > 0 && (least == 0 || d < least) {
				least = d
			}
		}
	}
	return least
}
