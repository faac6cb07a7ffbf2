package capture

// maxPending bounds the acknowledgements held back; the oldest is then taken
// early.
const maxPending = 1 << 14

// pendingACKs is a ring of acknowledgements captured but not yet at the sender.
type pendingACKs struct {
	ring    []ack
	head, n int
}

func (q *pendingACKs) push(a ack) {
	if q.n == len(q.ring) {
		grown := make([]ack, max(2*len(q.ring), 8))
		for i := range q.n {
			grown[i] = q.ring[(q.head+i)&(len(q.ring)-1)]
		}
		q.ring, q.head = grown, 0
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = a
	q.n++
}

func (q *pendingACKs) pop() ack {
	a := q.ring[q.head]
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return a
}

// release lets the acknowledgements that have reached the sender by time t in.
func (s *sender) release(c *connection, t int64) {
	for s.pending.n > 0 {
		a := &s.pending.ring[s.pending.head]
		at := a.at + s.loop.lag
		if at > t {
			return
		}
		x := s.pending.pop()
		s.acknowledged(c, &x, at)
	}
}

// drain takes the acknowledgements that the capture's end left under way.
func (s *sender) drain(c *connection) {
	for s.pending.n > 0 {
		a := s.pending.pop()
		s.acknowledged(c, &a, a.at+s.loop.lag)
	}
}
