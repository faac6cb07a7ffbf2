package capture

// segment is one record of new data that is not acknowledged yet.
type segment struct {
	sent  int64 // last transmission, capture time
	end   uint32
	len   uint32
	tsval uint32
	frame uint32
	id    uint16
	times uint8 // transmissions
}

// maxSegments bounds the segments remembered in one direction: 64 Ki records
// of a full flight at 100 Gbit/s and 8 ms.
const maxSegments = 1 << 16

// segments is a ring of segments in sequence order.
type segments struct {
	ring []segment
	head int
	n    int
}

func (q *segments) at(i int) *segment { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

// push appends a segment. When the ring may grow no more the oldest goes: its
// acknowledgement then gives no sample.
func (q *segments) push(s segment) {
	if q.n == len(q.ring) {
		if q.n >= maxSegments {
			q.pop()
		} else {
			grown := make([]segment, max(2*len(q.ring), 8))
			for i := range q.n {
				grown[i] = *q.at(i)
			}
			q.ring, q.head = grown, 0
		}
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = s
	q.n++
}

func (q *segments) pop() {
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
}

// find returns the index of the first segment that ends after seq.
func (q *segments) find(seq uint32) int {
	lo, hi := 0, q.n
	for lo < hi {
		m := (lo + hi) / 2
		if int32(q.at(m).end-seq) > 0 {
			hi = m
		} else {
			lo = m + 1
		}
	}
	return lo
}

// hole is sequence space that was skipped by a later segment.
type hole struct {
	start, end int64
	opened     int64
	frame      uint32
}

// maxHoles bounds the holes remembered; a path that loses more at once is lossy
// whatever the rest.
const maxHoles = 128

// holes is ordered by sequence.
type holes []hole

func (hs *holes) open(h hole) {
	if len(*hs) < maxHoles {
		*hs = append(*hs, h)
	}
}

// fill takes [start, end) out and returns the hole that it touched first.
func (hs *holes) fill(start, end int64) (hole, bool) {
	var hit hole
	found := false
	for i := 0; i < len(*hs); i++ {
		h := &(*hs)[i]
		if end <= h.start || start >= h.end {
			continue
		}
		if !found {
			hit, found = *h, true
		}
		switch {
		case start <= h.start && end >= h.end:
			*hs = append((*hs)[:i], (*hs)[i+1:]...)
			i--
		case start <= h.start:
			h.start = end
		case end >= h.end:
			h.end = start
		default:
			tail := hole{end, h.end, h.opened, h.frame}
			h.end = start
			if len(*hs) < maxHoles {
				*hs = append(*hs, hole{})
				copy((*hs)[i+2:], (*hs)[i+1:])
				(*hs)[i+1] = tail
			}
			i++
		}
	}
	return hit, found
}

// acked drops what lies below seq and returns its bytes: acknowledged, but
// never captured.
func (hs *holes) acked(seq int64) (unseen int64) {
	keep := (*hs)[:0]
	for _, h := range *hs {
		if h.start < seq {
			unseen += min(h.end, seq) - h.start
			h.start = seq
		}
		if h.start < h.end {
			keep = append(keep, h)
		}
	}
	*hs = keep
	return unseen
}
