package capture

import "github.com/linerate/linerate/internal/wire/frame"

// ack is an acknowledgement on its way to the sender.
type ack struct {
	at     int64 // capture time
	pos    int64
	sack   int64 // end of the highest SACK block, 0 where none
	sacked int64 // bytes in SACK blocks above pos
	window uint32
	raw    uint16
	frame  uint32
	pure   bool // without payload
	dsack  bool
	closed bool // FIN or RST: no duplicate acknowledgement
}

// captured takes an acknowledgement as it passes the capture point.
func (s *sender) captured(c *connection, p *frame.Packet, scale uint8, t int64, no uint32) {
	if !s.started {
		s.start(p.Ack)
	}
	pos := s.position(p.Ack)
	if pos > s.next { // acknowledges data that was never captured
		if s.records > 0 {
			s.loss.unseen += pos - s.next
		}
		s.next = pos
	}
	if s.unstamped != nil {
		s.unstamped.opening.answered(s, pos, t)
	}
	if pos > s.seenUna {
		if len(s.holes) > 0 {
			s.loss.unseen += s.holes.acked(pos)
		}
		s.seenUna = pos
	}
	o := &p.Options
	if o.HasTimestamp {
		s.loop.echoes.passed(o.TSval, t)
	}
	a := ack{at: t, pos: pos, window: uint32(p.Window) << scale, raw: p.Window, frame: no,
		pure: p.Payload == 0, closed: p.Flags&(frame.FIN|frame.RST|frame.SYN) != 0}
	for i := range o.SACKs {
		start, end := s.position(o.SACK[i][0]), s.position(o.SACK[i][1])
		if i == 0 && (end <= pos || o.SACKs > 1 && start >= s.position(o.SACK[1][0]) && end <= s.position(o.SACK[1][1])) {
			a.dsack = true // RFC 2883 4
			continue
		}
		if end > pos && end <= s.next {
			a.sack = max(a.sack, end)
			a.sacked += end - max(start, pos)
		}
	}
	if s.loop.lag == 0 && s.pending.n == 0 {
		s.acknowledged(c, &a, t)
		return
	}
	s.release(c, t)
	if s.pending.n >= maxPending {
		old := s.pending.pop()
		s.acknowledged(c, &old, old.at)
	}
	s.pending.push(a)
}

// acknowledged is an acknowledgement's arrival at the sender at time t.
func (s *sender) acknowledged(c *connection, a *ack, t int64) {
	s.clock.advance(t, false, a.frame, 0)
	s.lastAck = t
	if s.crest > 0 {
		s.inflight.add(s.crest)
		s.crest = 0
	}
	l := &s.loss
	if a.dsack {
		l.dsacks++
	}
	switch {
	case a.pos > s.una:
		s.progress(c, a, t)
	case a.pos == s.una && a.pure && !a.closed && s.next > s.una && (a.window == s.window || a.sack > 0):
		l.dupAcks++
		l.dupAckTotal++
		s.rate.early(t, int64(s.full), s.loop.minimum())
	}
	l.sackHigh = max(l.sackHigh, a.sack)
	if a.pos <= s.una && (l.dupAcks == 3 && a.sack == 0 || a.sacked > 2*int64(s.full)) && s.una >= l.recover {
		l.recover, l.suspected = s.next, true // RFC 6675 5: the loss is known, its repair begins
	}
	if a.pos >= s.una {
		s.offer(c, a, t)
	}
	s.clock.enter(s.judge())
}

// offer takes the receive window.
func (s *sender) offer(c *connection, a *ack, t int64) {
	if a.closed && a.window == 0 {
		return // a reset says nothing of the window
	}
	w := a.window
	if c.unscaled(s) {
		w = s.guessWindow(a)
	}
	if w == 0 {
		s.zeroACKs++
		if s.window != 0 && s.offers > 0 {
			s.zeroTimes++
		}
	}
	s.window, s.raw, s.edge = w, a.raw, a.pos+int64(w)
	if s.offers == 0 || w < s.winMin {
		s.winMin = w
	}
	s.winMax = max(s.winMax, w)
	s.offers++
	if s.series != nil {
		s.series.window(t, s.edge)
	}
}

// guessWindow applies the smallest shift that explains the bytes in flight,
// where no handshake told it.
func (s *sender) guessWindow(a *ack) uint32 {
	w := uint32(a.raw) << s.unscaled
	if a.raw == 0 {
		return 0
	}
	for s.unscaled < 14 && int64(w)+2*int64(s.full) < s.next-a.pos {
		s.unscaled++
		w = uint32(a.raw) << s.unscaled
		// What looked like a stop by the window was none.
		s.clock.total[stateOpen] += s.clock.total[stateWindow]
		s.clock.total[stateWindow] = 0
		s.offers, s.winMax, s.winStop, s.plateaus = 0, 0, histogram{}, 0
	}
	return w
}

// progress takes an acknowledgement of new data.
func (s *sender) progress(c *connection, a *ack, t int64) {
	l := &s.loss
	covered := a.pos - s.una
	clean := a.pos > l.recover && len(s.holes) == 0
	s.una = a.pos
	l.dupAcks = 0
	var last segment
	found := false
	for s.flight.n > 0 {
		g := s.flight.at(0)
		if int32(g.end-uint32(a.pos)) > 0 {
			// The acknowledgement ends inside a super-segment.
			if int32(g.end-g.len-uint32(a.pos)) < 0 && !found {
				last, found = *g, true
			}
			break
		}
		last, found = *g, true
		l.blackhole.delivered(g, s.full)
		s.flight.pop()
	}
	if found && last.times == 1 && clean && last.sent > c.since {
		d := a.at - last.sent
		// The receiver's timer can only have delayed an acknowledgement after
		// which nothing is outstanding: a second segment would have ended it.
		delayed := covered < 2*int64(s.full) && a.pure && a.pos == s.next && d > s.loop.downMin+5_000_000
		if !delayed && d > 0 {
			s.loop.sampleDown(d)
			if o := c.other(s); o != nil && !c.timestamps {
				o.loop.limitUp(d) // the same way, seen from the peer
			}
			if s.series != nil {
				s.series.rtt(t, d+s.loop.upMin)
			}
		}
		s.turns.acked(s, t, d, &last)
	}
	if a.pure {
		s.acks.add(covered, s.full)
		if s.unstamped != nil {
			s.unstamped.spacing.add(a.at, covered, int64(s.full), s.loop.lastDown > s.loop.minimum()*6/5)
		}
	}
	s.epoch.acked(s.una, s.next)
	s.rate.add(t, covered, s.loop.minimum())
	s.touch(t)
	if s.series != nil {
		s.series.acked(t, s.una)
	}
}
