package capture

// slots is how many points a series keeps; when time outgrows them, pairs are
// merged.
const slots = 512

// point sums up one slot of time.
type point struct {
	next, una, edge int64 // highest of each, 0 where none
	flight          int64
	rtt, rttN       int64 // sum and number of samples
	bytes           int64 // acknowledged
	acks            int64
	resent          int64
}

// series is a direction over time, at a resolution that falls as the
// connection lasts: bounded memory for a capture of any length.
type series struct {
	start, width int64
	una          int64
	points       [slots]point
	used         int

	// The slot of the last event, which most likely takes the next too.
	now        *point
	from, till int64
}

// newSeries begins at t with slots of a round trip, at least 1 ms: finer ones
// would show the bursts of a window, not the rate.
func newSeries(t, roundTrip int64) *series {
	return &series{start: t, width: min(max(roundTrip, 1_000_000), 1_000_000_000)}
}

func (s *series) slot(t int64) *point {
	if t >= s.from && t < s.till {
		return s.now
	}
	i := (t - s.start) / s.width
	for i >= slots {
		for j := range slots / 2 {
			s.points[j] = merge(s.points[2*j], s.points[2*j+1])
		}
		clear(s.points[slots/2:])
		s.width *= 2
		s.used = (s.used + 1) / 2
		i = (t - s.start) / s.width
	}
	i = max(i, 0)
	s.used = max(s.used, int(i)+1)
	s.now, s.from = &s.points[i], s.start+i*s.width
	s.till = s.from + s.width
	return s.now
}

func merge(a, b point) point {
	return point{max(a.next, b.next), max(a.una, b.una), max(a.edge, b.edge), max(a.flight, b.flight),
		a.rtt + b.rtt, a.rttN + b.rttN, a.bytes + b.bytes, a.acks + b.acks, a.resent + b.resent}
}

func (s *series) sent(t, next, flight int64) {
	p := s.slot(t)
	p.next, p.flight = max(p.next, next), max(p.flight, flight)
}

func (s *series) resent(t int64) { s.slot(t).resent++ }

func (s *series) window(t, edge int64) {
	p := s.slot(t)
	p.edge = max(p.edge, edge)
}

func (s *series) rtt(t, d int64) {
	p := s.slot(t)
	p.rtt += d
	p.rttN++
}

func (s *series) acked(t, una int64) {
	p := s.slot(t)
	if s.una > 0 {
		p.bytes += una - s.una
	}
	s.una = una
	p.una = max(p.una, una)
	p.acks++
}
