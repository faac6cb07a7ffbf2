package capture

// sender follows the data that one end of a connection sends and the
// acknowledgements that come back, in the order in which the sender itself met
// them: data is taken as captured, acknowledgements are held back by the time
// they and the answer to them need from the capture point to the sender and
// back. Times are nanoseconds of the capture's clock.
type sender struct {
	// Sequence space, unwrapped to 64 bits.
	started bool
	fin     int64 // position of the FIN, 0 before it
	next    int64 // end of the highest byte sent
	una     int64 // acknowledged, as the sender knows it
	seenUna int64 // acknowledged, as captured
	flight  segments
	holes   holes

	// Receive window of the peer.
	window         uint32 // as advertised last
	raw            uint16 // window field of the last acknowledgement
	edge           int64  // una + window
	offers         int64  // acknowledgements that offered a window
	winMin, winMax uint32
	winStop        histogram // window while it stopped the sender
	zeroACKs       int       // acknowledgements with window 0
	zeroTimes      int
	plateaus       int    // times flight came within a segment of the window
	unscaled       uint8  // lower bound of an unknown shift
	stopped        uint32 // last stop's window, to count plateaus

	// Segment size.
	sizes    sizes
	full     int // payload of a full segment
	superMax int // longest record beyond the segment size

	clock clock
	loop  loop
	loss  losses
	acks  ackStats
	turns turns
	rate  delivery

	first, last int64 // time of the first data, of the last data or progress
	firstFrame  uint32
	lastNew     int64     // time of the last new data
	lastAck     int64     // time of the last acknowledgement, sender's frame
	lastShort   bool      // last new segment was shorter than a full one
	inflight    histogram // at its crests: when an acknowledgement meets new data sent
	crest       int64     // flight after the last new data, 0 once sampled
	epoch       epochs
	pending     pendingACKs
	unstamped   *unstamped // nil with timestamps

	bytes    int64 // new payload bytes
	records  int64 // data records, retransmissions too
	segments int64 // new full or partial segments, super-segments cut
	short    int64 // of them shorter than a full segment
	headers  int64 // bytes of headers of data records, for the wire rate
	series   *series
}

// epochs samples the flight once per round trip.
type epochs struct {
	end    int64 // the epoch ends when this is acknowledged
	peak   int64
	n      int
	flight [24]int32 // peaks of the first epochs
}

func (e *epochs) sent(flight int64) { e.peak = max(e.peak, flight) }

func (e *epochs) acked(una, next int64) {
	if una < e.end {
		return
	}
	if e.end > 0 {
		if e.n < len(e.flight) {
			e.flight[e.n] = int32(min(e.peak, 1<<30))
		}
		e.n++
	}
	e.end, e.peak = next+1, 0
}

// position unwraps a sequence number near s.next.
func (s *sender) position(seq uint32) int64 {
	return s.next + int64(int32(seq-uint32(s.next)))
}

// start fixes the origin of the sequence space.
func (s *sender) start(seq uint32) {
	s.started = true
	s.next = 1<<32 + int64(seq)
	s.una, s.seenUna, s.edge = s.next, s.next, s.next
	s.full = 1448
}

// outstanding returns the bytes in flight.
func (s *sender) outstanding() int64 { return s.next - s.una }

// touch marks the time of the last data or progress.
func (s *sender) touch(t int64) { s.last = max(s.last, t) }

// sizes finds the commonest payload lengths (Misra and Gries, 1982).
type sizes struct {
	length [6]uint32
	count  [6]uint32
	max    uint32
	total  uint32
}

func (z *sizes) add(n uint32) {
	z.total++
	z.max = max(z.max, n)
	if z.length[0] == n {
		z.count[0]++
		return
	}
	free := -1
	for i := range z.length {
		if z.length[i] == n {
			z.count[i]++
			return
		}
		if z.count[i] == 0 {
			free = i
		}
	}
	if free >= 0 {
		z.length[free], z.count[free] = n, 1
		return
	}
	for i := range z.count {
		z.count[i]--
	}
}

// mode returns the commonest length, 0 where none stands out.
func (z *sizes) mode() int {
	best := 0
	for i := range z.count {
		if z.count[i] > z.count[best] {
			best = i
		}
	}
	if z.count[best] == 0 {
		return 0
	}
	return int(z.length[best])
}

// segmentSize decides what a full segment carries: what the MSS options allow,
// or the commonest length just below it (a path MTU that was discovered).
// limit is 0 where no handshake was captured.
func (z *sizes) segmentSize(limit int, timestamps bool) int {
	mode := z.mode()
	if limit > 0 {
		if int(z.max) < limit && mode*10 >= limit*6 && mode <= limit {
			return mode
		}
		return limit
	}
	if z.max <= 1460 {
		if mode*10 >= int(z.max)*9 {
			return mode
		}
		return max(int(z.max), 1)
	}
	for _, n := range []int{1448, 1460, 1428, 1440, 8948, 8960, 8928, 8940} {
		if mode == n || mode > n && mode%n == 0 {
			return n
		}
	}
	if timestamps {
		return 1448
	}
	return 1460
}
