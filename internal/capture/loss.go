package capture

import "github.com/linerate/linerate/internal/wire/frame"

// losses counts what was sent, or seen, more than once.
type losses struct {
	retransmits  int64 // segments sent again, as the kernel counts them
	retransBytes int64
	upstream     int64 // of them, whose first copy was lost before the capture point
	spurious     int64
	fast         int64
	timeouts     int64
	tailProbes   int64
	reordered    int64
	duplicates   int64 // copies made by the network
	probes       int64 // window probes and keep-alives
	unseen       int64 // bytes acknowledged but never captured
	events       int64
	recover      int64 // recovery point (RFC 6675 2)
	suspected    bool  // acknowledgements say that a loss event began
	dsacks       int64
	overflows    int64 // loss events just before which the round trip was long: a queue was full
	dupAcks      int
	dupAckTotal  int64
	sackHigh     int64
	newestVal    uint32 // newest timestamp sent
	newestID     uint16
	frames       [3]uint32
	blackhole    blackhole
	silences     silences
	handshake    int64 // SYNs sent again, among retransmits
}

// needless returns the retransmissions of what had arrived: seen here, or told
// by the receiver (RFC 2883).
func (l *losses) needless() int64 { return max(l.spurious, min(l.dsacks, l.retransmits)) }

// resent sorts a retransmission and counts it.
func (s *sender) resent(c *connection, p *frame.Packet, pos, span, t int64, no uint32, first segment, upstream bool) {
	l := &s.loss
	n := int64(1)
	if s.full > 0 && p.Payload > s.full {
		n = int64((p.Payload + s.full - 1) / s.full)
	}
	l.retransmits += n
	l.retransBytes += int64(p.Payload)
	if upstream {
		l.upstream += n
	}
	example(&l.frames, no)
	least := s.loop.minimum()
	silent := t - max(s.lastAck, s.first)
	probe := false // no proof of a loss (RFC 8985 7.3)
	age := t - first.sent
	switch {
	case span <= s.una || span <= s.seenUna:
		l.spurious += n
	case first.sent > 0 && silent >= max(150_000_000, least*12/10) && age >= max(200_000_000, least*15/10):
		l.timeouts++
	case first.sent > 0 && span == s.next && !upstream && age >= least*15/10 && l.dupAcks < 3 && l.sackHigh <= s.una:
		l.tailProbes++
		probe = true
	default:
		l.fast += n
	}
	if !upstream && span > s.seenUna {
		for i := s.flight.find(p.Seq); i < s.flight.n; i++ {
			g := s.flight.at(i)
			if int32(g.end-uint32(span)) > 0 {
				break
			}
			g.sent = t
			g.times = min(g.times, 254) + 1
		}
	}
	l.blackhole.sent(min(p.Payload, s.full))
	switch {
	case probe:
	case pos >= l.recover && span > s.una:
		s.event()
		l.recover = s.next
	case l.suspected:
		s.event()
	}
	l.suspected = l.suspected && probe
	if s.series != nil {
		s.series.resent(t)
	}
}

// event counts a loss event. The last round trip before it tells whether a
// queue was full.
func (s *sender) event() {
	s.loss.events++
	if least := s.loop.minimum(); s.loop.lastDown+s.loop.lastUp > least+max(least/5, 500_000) {
		s.loss.overflows++
	}
}

// example keeps the first three frames of a kind.
func example(f *[3]uint32, no uint32) {
	for i := range f {
		if f[i] == 0 {
			f[i] = no
			return
		}
	}
}
