package capture

// Without timestamps nothing says which acknowledgement a segment answers, so
// that a queue of acknowledgements can't be measured. It shows in what the queue
// makes: acknowledgements that passed together are answered one by one, and from
// then on the sender's bursts, or at the sender the acknowledgements, come at the
// pace of the slow way back, whatever each of them is worth.

// unstamped is what is kept of a sender without timestamps.
type unstamped struct {
	opening opening
	ticks   histogram // pauses between bursts, where the opening raised a suspicion
	spacing spacing
}

// sent takes new data.
func (u *unstamped) sent(s *sender, pos, span, t int64) {
	u.opening.sent(s, pos, span, t)
	if u.opening.spread == 0 || u.opening.score() < 0.5 {
		return
	}
	if d := t - s.lastNew; d > burstGap {
		u.ticks.add(d)
	}
}

// opening follows the first two flights: the first is one burst of a sender that
// has data (RFC 6928), and the second, after a pause, answers its
// acknowledgements.
type opening struct {
	end         int64 // position after the first flight, 0 before the second
	size        int64
	acks, acked int64 // when the first and the latest acknowledgement of it passed
	ackSpread   int64 // between its first and its last, 0 before
	data        int64 // when the second flight began
	spread      int64 // until most of it had passed, 0 before
}

// answered takes an acknowledgement as it passes the capture point.
func (o *opening) answered(s *sender, pos, t int64) {
	if o.ackSpread > 0 || s.bytes == 0 || pos <= s.seenUna {
		return
	}
	if o.acks == 0 {
		o.acks = t
	}
	o.acked = t
	if o.end > 0 && pos >= o.end {
		o.ackSpread = max(t-o.acks, 1)
	}
}

// sent takes new data; three quarters of the second flight, which is twice the
// first (RFC 5681 3.1), tell its spread.
func (o *opening) sent(s *sender, pos, span, t int64) {
	if o.spread > 0 || o.acks == 0 {
		return
	}
	if o.end == 0 {
		if t-s.lastNew <= max(burstGap, s.loop.minimum()/3) {
			return
		}
		o.end, o.size, o.data = pos, s.bytes, t
		if s.seenUna >= pos {
			o.ackSpread = max(o.acked-o.acks, 1)
		}
	}
	if span-o.end >= o.size*3/2 {
		o.spread = max(t-o.data, 1)
	}
}

// score compares the spread of the second flight with three times that of the
// acknowledgements it answers, and with 2 ms.
func (o *opening) score() float64 {
	return min(float64(o.spread)/float64(3*o.ackSpread+500_000), float64(o.spread)/2e6)
}

// burstGap is the pause that ends a burst, in nanoseconds: longer than a segment
// takes at 40 Mbit/s.
const burstGap = 400_000

// spacing is the time between acknowledgements while a queue delays them, by how
// many segments each covers.
type spacing struct {
	last     int64
	one, two histogram
}

func (p *spacing) add(t, covered, full int64, queued bool) {
	d := t - p.last
	p.last = t
	if !queued || d == t {
		return
	}
	switch n := (covered + full/2) / full; n {
	case 1:
		p.one.add(d)
	case 2:
		p.two.add(d)
	}
}

// regular reports whether most of the samples lie within a fifth of their
// median.
func regular(h *histogram) bool {
	m := h.median()
	return h.n >= 20 && h.quantile(0.2) > 0.8*m && h.quantile(0.8) < 1.25*m
}

// tick is the usual time, in seconds, from one acknowledgement's arrival at the
// sender to the next.
func (e *evidence) tick() float64 {
	if e.vantage == atSender {
		return e.s.unstamped.spacing.two.median() / 1e9
	}
	return e.s.unstamped.ticks.median() / 1e9
}

// slowACKs scores a bottleneck of acknowledgements without timestamps.
func (e *evidence) slowACKs() float64 {
	s := e.s
	u := s.unstamped
	if u == nil {
		return 0
	}
	if e.vantage == atSender {
		// Behind a bottleneck of data an acknowledgement of two segments takes the
		// time of two; on a slow way back it takes the time of one.
		p := &u.spacing
		return all((e.queue-1)/0.3, float64(p.one.n)/6, yes(regular(&p.two)), yes(p.one.median() > 500_000), yes(p.two.median() < 1.35*p.one.median()))
	}
	return all(yes(u.opening.size >= 4*int64(s.full)), u.opening.score(), yes(regular(&u.ticks)),
		yes(s.loss.events == 0), yes(float64(s.short) < 0.05*float64(s.segments)), yes(s.loop.down.median() < 1.3*float64(s.loop.downMin)+500_000))
}
