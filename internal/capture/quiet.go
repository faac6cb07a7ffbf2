package capture

import "github.com/linerate/linerate/internal/wire/frame"

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
