package capture

import "github.com/linerate/linerate/internal/wire/frame"

// data takes a record with payload (or FIN) sent at capture time t.
func (s *sender) data(c *connection, p *frame.Packet, t int64, no uint32) {
	n := int64(p.Payload)
	s.release(c, t)
	if !s.started {
		s.start(p.Seq)
	}
	pos := s.position(p.Seq)
	end := pos + n
	span := end
	if p.Flags&frame.FIN != 0 {
		span++
	}
	if s.first == 0 && n > 0 {
		s.first, s.firstFrame = t, no
		s.clock.at = t
	}
	s.clock.advance(t, true, no, s.prompt())
	s.records++
	s.headers += int64(p.Headers)
	if p.Options.HasTimestamp {
		if at, ok := s.loop.echoes.met(p.Options.TSecr); ok && p.Options.TSecr != 0 && at > c.since {
			if s.next > s.una {
				s.loop.sampleUp(t - at)
			} else {
				s.loop.limitUp(t - at) // the application's pause is in it
			}
		}
	}
	switch {
	case n <= 1 && span > pos && pos == s.next-1 && p.Flags&frame.FIN == 0:
		s.loss.probes++
	case pos >= s.next:
		s.fresh(c, p, pos, span, t, no)
	default:
		s.again(c, p, pos, span, t, no)
	}
	if p.Flags&frame.FIN != 0 {
		s.fin = span
	}
	if p.Options.HasTimestamp && (s.loss.newestVal == 0 || int32(p.Options.TSval-s.loss.newestVal) > 0) {
		s.loss.newestVal = p.Options.TSval
	}
	s.loss.newestID = p.ID
	s.touch(t)
	s.clock.enter(s.judge())
}

// fresh takes data above everything sent so far.
func (s *sender) fresh(c *connection, p *frame.Packet, pos, span, t int64, no uint32) {
	n := p.Payload
	if pos > s.next {
		if s.clock.now == stateIdle && s.records == 1 {
			s.next, s.una = pos, pos // the capture began in the middle
		} else {
			s.skipped(pos, t, no)
		}
	}
	if s.unstamped != nil {
		s.unstamped.sent(s, pos, span, t)
	}
	s.turns.sent(s, t, pos)
	s.loss.silences.sent(s, t, no)
	if n > 0 {
		s.measure(c, n)
		s.bytes += int64(n)
		s.lastNew = t
	}
	s.next = span
	s.flight.push(segment{sent: t, end: uint32(span), len: uint32(n), tsval: p.Options.TSval, frame: no, id: p.ID, times: 1})
	flight := s.outstanding()
	s.crest = flight
	s.epoch.sent(flight)
	s.loss.blackhole.sent(min(n, s.full))
	// A window that is left with less than a segment, and flight close to it,
	// is one more point at which the window explains where the sender stopped.
	if s.edge-s.next < int64(s.full) && s.offers > 0 {
		s.winStop.add(int64(s.window))
		if s.stopped != s.window {
			s.plateaus++
			s.stopped = s.window
		}
	}
	if s.series != nil {
		s.series.sent(t, s.next, flight)
	}
}

// skipped takes note of bytes that never passed, though later ones do.
func (s *sender) skipped(pos, t int64, no uint32) {
	s.holes.open(hole{s.next, pos, t, no})
	if q := &s.loss.silences; s.lastNew > 0 && t-s.lastNew > 1e9 {
		q.lost = t - s.lastNew
		example(&q.frames, no)
	}
}

// optionRoom is what TCP options may take of a segment, in bytes, beyond the
// timestamps.
const optionRoom = 32

// measure keeps the segment sizes.
func (s *sender) measure(c *connection, n int) {
	s.sizes.add(uint32(n))
	if total := s.sizes.total; total&(total-1) == 0 || total%64 == 0 {
		s.full = s.sizes.segmentSize(c.segmentLimit(), c.timestamps)
	}
	if n > s.full && n > c.segmentLimit() {
		s.superMax = max(s.superMax, n)
	}
	if n == s.full { // nearly always; the rest divides
		s.segments++
		s.lastShort = false
		return
	}
	s.segments += int64((n + s.full - 1) / s.full)
	// A write that misses a full segment by the room of some options is meant as
	// one.
	if tail := n % s.full; tail > 0 && s.full-tail > optionRoom {
		s.lastShort = true
		s.short++
	} else {
		s.lastShort = false
	}
}

// again takes data of which at least the beginning was passed before: a
// retransmission, a reordered segment or the network's copy of one.
func (s *sender) again(c *connection, p *frame.Packet, pos, span, t int64, no uint32) {
	l := &s.loss
	least := s.loop.minimum()
	at := s.loop.where
	if h, ok := s.holes.fill(pos, span); ok {
		older := p.Options.HasTimestamp && int32(p.Options.TSval-l.newestVal) < 0 ||
			!p.Options.HasTimestamp && p.ID != 0 && int16(p.ID-l.newestID) < 0 && t-h.opened < least
		if at != atSender && (older || t-h.opened < least*8/10) {
			l.reordered++
			s.count(c, p, span)
			return
		}
		if d := t - h.opened; !c.timestamps && d < 4*least {
			s.loop.sampleUp(d) // the repair took a round trip of the sender's half
		}
		s.resent(c, p, pos, span, t, no, segment{sent: h.opened}, true)
		s.count(c, p, span)
		return
	}
	i := s.flight.find(p.Seq)
	var first segment
	if i < s.flight.n {
		first = *s.flight.at(i)
	}
	// A copy made on the way is the same packet: same timestamp, same IP
	// identification, at once.
	if at != atSender && first.times == 1 && t-first.sent < max(least/2, 1_000_000) &&
		first.tsval == p.Options.TSval && first.id == p.ID && (p.ID != 0 || p.Options.HasTimestamp) && first.end == uint32(span) {
		l.duplicates++
		return
	}
	s.resent(c, p, pos, span, t, no, first, false)
	if span > s.next { // repacketized with new data behind
		extra := span - s.next
		s.bytes += min(extra, int64(p.Payload))
		s.flight.push(segment{sent: t, end: uint32(span), len: uint32(extra), tsval: p.Options.TSval, frame: no, id: p.ID, times: 2})
		s.next = span
		s.lastNew = t
	}
}

// count takes bytes that fill a hole into the payload.
func (s *sender) count(c *connection, p *frame.Packet, span int64) {
	s.bytes += int64(p.Payload)
	s.segments += int64((p.Payload + s.full - 1) / s.full)
}
