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
		s.loop.where = s.loop.vantage()
	}
	return s
}

// quiet watches for an end that no longer answers.
type quiet struct {
	last       int64 // when it was heard last
	since      int64 // when it was first asked in vain
	unanswered int   // segments since, long after, that want an answer
	lasting    int64
}

func (q *quiet) heard(t int64) { *q = quiet{last: t} }

func (q *quiet) asked(t int64, wants bool) {
	if wants && q.last > 0 && t-q.last > 1e9 {
		if q.unanswered == 0 {
			q.since = t
		}
		q.unanswered++
		q.lasting = t - q.last
	}
}

// dead reports whether the end owed an answer: asked twice in vain, or once and
// silent for a second until the capture ended.
func (q *quiet) dead(end int64) bool {
	return q.unanswered >= 2 || q.unanswered == 1 && end-q.since > 1e9
}

// empty takes a segment without payload. Its sequence number is the end of what
// was sent (RFC 9293 3.10.7.4): bytes below it that never passed were lost on
// the way here. One byte less is a keep-alive or a window probe.
func (s *sender) empty(p *frame.Packet, t int64, no uint32, peer *quiet) {
	if !s.started {
		return
	}
	switch pos := s.position(p.Seq); {
	case pos == s.next-1:
		s.loss.probes++
		peer.asked(t, true)
	case pos > s.next && s.records > 0 && pos-s.next < 1<<30:
		s.skipped(pos, t, no)
		s.touch(t)
		s.next = pos
	}
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

// oneWay follows the delay from one end to the capture point by that end's
// timestamp clock: what it grows by over the connection's first packet is
// queue.
type oneWay struct {
	last  uint32
	tick  int64 // nanoseconds of one step of the clock, 0 until known
	least int64
	queue histogram
}

// add takes a segment's timestamps. The step of the clock comes from the time
// it took to arrive, or from the other end's clock, which it echoes: a growing
// queue can only lengthen either.
func (w *oneWay) add(o *frame.Options, t int64, h *handshake, peer *oneWay, ph *handshake) {
	if o.TSval == w.last {
		return // the first of a step is the least late
	}
	w.last = o.TSval
	steps := int64(int32(o.TSval - h.stamp))
	passed := t - h.stampAt
	if w.tick == 0 {
		if passed < 200_000_000 || steps < 10 {
			return
		}
		step := passed / steps
		if w.tick = nearestTick(step); peer.tick == 0 && ph.stamped && passed < 1e9 && (step < w.tick*9/10 || step > w.tick*11/10) {
			w.tick = 0 // a queue may be growing; the echoes will tell
			return
		}
		if echoed := int64(int32(o.TSecr - ph.stamp)); peer.tick > 0 && echoed > 0 {
			step = min(step, echoed*peer.tick/steps)
		}
		w.tick = nearestTick(step)
	}
	d := passed - steps*w.tick
	w.least = min(w.least, d)
	w.queue.add(d - w.least)
}

// nearestTick snaps a measured step to the clocks that stacks use (RFC 7323
// 5.4 allows 1 ms to 1 s; Linux can use 1 µs).
func nearestTick(measured int64) int64 {
	best, bestRatio := int64(0), 0.0
	for _, tick := range []int64{1_000, 1_000_000, 4_000_000, 10_000_000, 100_000_000, 500_000_000} {
		ratio := float64(tick) / float64(max(measured, 1))
		if ratio > 1 {
			ratio = 1 / ratio
		}
		if ratio > bestRatio {
			best, bestRatio = tick, ratio
		}
	}
	return best
}
