package capture

// ackStats is the acknowledgement frequency.
type ackStats struct {
	pure      int64
	bytes     int64
	histogram [17]uint32 // by segments covered; the last holds 16 and more
}

func (a *ackStats) add(covered int64, full int) {
	a.pure++
	a.bytes += covered
	a.histogram[min(uint32(min(covered, 1<<30)+int64(full)/2)/uint32(full), 16)]++
}

// turns watches what starts and stops the application's sending: replies,
// acknowledgements, and the timer of a delayed one.
type turns struct {
	starts   int64 // sent after a pause with nothing in flight
	answered int64 // of them, after payload from the peer
	reply    bool  // payload from the peer since the last data

	bursts     int64 // new data after a gap
	ackClocked int64 // of them, right after an acknowledgement

	stall      int64 // length of the last acknowledgement's delay
	stallEnd   int64
	stalls     int64 // short segment waited for a delayed acknowledgement
	stalled    int64 // time lost by it
	stallTimes histogram
	frames     [3]uint32
}

// sent takes new data at pos, before it counts as sent.
func (u *turns) sent(s *sender, t, pos int64) {
	if s.lastNew == 0 {
		u.reply = false
		return
	}
	least := s.loop.minimum()
	if s.next <= s.una {
		u.starts++
		if u.reply {
			u.answered++
		}
	}
	gap := max(min(1_000_000, least/20), 100_000)
	if t-s.lastNew > gap {
		u.bursts++
		if t-s.lastAck <= gap {
			u.ackClocked++
		}
	}
	if u.stall > 0 && t-u.stallEnd <= s.prompt() && !u.reply && pos == s.una {
		u.stalls++
		u.stalled += u.stall
		u.stallTimes.add(u.stall)
	}
	u.stall, u.reply = 0, false
}

// prompt is how soon data follows what released it. Away from the sender the
// moment at which it met an acknowledgement is an estimate.
func (s *sender) prompt() int64 {
	if s.loop.where == atSender {
		return 1_000_000
	}
	return max(3_000_000, s.loop.minimum()/2)
}

// acked takes the acknowledgement of g, d after it passed: 20 ms more than the
// path needs is a delayed acknowledgement (RFC 9293 3.8.6.3).
func (u *turns) acked(s *sender, t, d int64, g *segment) {
	u.stall = 0
	if wait := d - s.loop.downMin; wait >= 20_000_000 && s.next == s.una && int(g.len) < s.full && s.flight.n == 0 {
		u.stall, u.stallEnd = wait, t
		example(&u.frames, g.frame)
	}
}

// blackhole finds a size above which nothing arrives.
type blackhole struct {
	clean  int // greatest segment delivered at the first try
	larger int64
	top    int
}

func (b *blackhole) sent(n int) {
	if n > b.clean {
		b.larger++
		b.top = max(b.top, n)
	}
}

func (b *blackhole) delivered(g *segment, full int) {
	if n := min(int(g.len), full); n > b.clean {
		b.clean, b.larger = n, 0
	}
}

// silences finds pauses that the sender's timer ended: one segment after a
// long gap, and the next only when it was acknowledged (a congestion window of
// one segment, RFC 5681 3.1).
type silences struct {
	count, total int64
	lost         int64 // silence after which data was found missing
	gap          int64 // of the segment that may be a timer's
	frames       [3]uint32
}

func (q *silences) sent(s *sender, t int64, no uint32) {
	least := max(s.loop.minimum(), 1)
	if q.gap > 0 && s.lastNew > 0 {
		if t-s.lastNew > least/2 {
			q.count++
			q.total += q.gap
			example(&q.frames, no)
		}
		q.gap = 0
	}
	if gap := t - s.lastNew; s.lastNew > 0 && gap > max(200_000_000, 3*least) && s.loop.where != atSender {
		q.gap = gap
	}
}

// delivery samples the delivered rate in windows of some round trips.
type delivery struct {
	start, width int64
	bytes        int64
	ahead        int64     // bytes that duplicate acknowledgements announced
	samples      histogram // bytes per window, scaled to bytes per second
}

// early takes a duplicate acknowledgement: one more segment has left the
// network (RFC 5681 3.2), though the cumulative acknowledgement comes later.
func (d *delivery) early(t, full, least int64) {
	d.ahead += full
	d.count(t, full, least)
}

// add takes bytes acknowledged at time t.
func (d *delivery) add(t, bytes, least int64) {
	known := min(d.ahead, bytes)
	d.ahead -= known
	d.count(t, bytes-known, least)
}

func (d *delivery) count(t, bytes, least int64) {
	if d.width == 0 {
		d.start, d.width = t, max(4*least, 20_000_000)
	}
	for n := 0; t-d.start >= d.width; n++ {
		if n == 64 { // a long pause: enough zeros
			d.start = t
			break
		}
		d.samples.add(int64(float64(d.bytes) / float64(d.width) * 1e9))
		d.start, d.bytes = d.start+d.width, 0
	}
	d.bytes += bytes
}
