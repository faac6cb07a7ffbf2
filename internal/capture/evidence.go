package capture

import (
	"math"

	"github.com/linerate/linerate/internal/wire/frame"
)

// evidence is what the rules judge: one direction's figures, ratios and shares.
// Times are seconds, rates bit/s, lengths bytes.
type evidence struct {
	s    *sender
	c    *connection
	side int // that sends

	vantage  vantage
	duration float64
	total    [states]int64 // nanoseconds
	share    [states]float64
	bytes    float64
	rate     float64 // goodput
	wire     float64 // rate on an Ethernet, all byte times
	full     float64

	minRTT, medRTT float64
	queue          float64 // medRTT / minRTT
	turns          float64 // duration in round trips

	window      float64 // usual receive window while it stopped the sender, or else the last
	constant    bool    // the window hardly varied while it stopped the sender
	windowRate  float64 // window / median RTT
	flightMed   float64
	flight20    float64
	flight80    float64
	flightMax   float64
	ackClocked  float64
	growth      float64 // of the flight, per round trip
	growing     float64 // share of the round trips after which it was greatest
	rise        float64 // greatest flight over the first
	rateMedian  float64
	rateHigh    float64 // 90th percentile
	rateWindows int64
	reverse     float64 // usual queue on the way back
	forward     float64

	lossRate float64 // loss events per segment
	overflow float64 // share of the loss events that met a full queue
	mathis   float64
	resent   float64 // share of the segments
	genuine  float64 // of the retransmissions, those that were needed
	unseen   float64 // share of the bytes acknowledged but not captured
	segsACK  float64
	ackRate  float64
}

// weigh derives the evidence of a direction.
func weigh(c *connection, side int) *evidence {
	s := c.senders[side]
	e := &evidence{s: s, c: c, side: side, vantage: s.loop.vantage(), bytes: float64(s.bytes), full: float64(s.full)}
	e.total = s.clock.totals()
	var total int64
	for _, t := range e.total {
		total += t
	}
	e.duration = float64(max(s.last-s.first, total)) / 1e9
	for i, t := range e.total {
		if total > 0 {
			e.share[i] = float64(t) / float64(total)
		}
	}
	if e.duration > 0 {
		e.rate = e.bytes * 8 / e.duration
		e.wire = s.wireBytes() * 8 / e.duration
		e.ackRate = float64(s.acks.pure) / e.duration
	}
	e.minRTT, e.medRTT = float64(s.loop.minimum())/1e9, float64(s.loop.median())/1e9
	e.medRTT = max(e.medRTT, e.minRTT)
	if e.minRTT > 0 {
		e.queue, e.turns = e.medRTT/e.minRTT, e.duration/e.minRTT
	}
	e.windows()
	e.flight20 = s.inflight.quantile(0.2)
	e.flightMed, e.flight80, e.flightMax = s.inflight.median(), s.inflight.quantile(0.8), float64(s.inflight.max)
	if s.turns.bursts > 0 {
		e.ackClocked = float64(s.turns.ackClocked) / float64(s.turns.bursts)
	}
	e.grow()
	e.rateMedian, e.rateHigh, e.rateWindows = s.rate.samples.median()*8, s.rate.samples.quantile(0.9)*8, s.rate.samples.n
	e.queues()
	e.losses()
	if s.acks.pure > 0 {
		e.segsACK = float64(s.acks.bytes) / float64(s.acks.pure) / e.full
	}
	return e
}

// queues splits what the round trip grew by. The timestamp clocks show each
// end's way to the capture point; the rest of a half is the other way.
func (e *evidence) queues() {
	l := &e.s.loop
	e.forward = e.c.oneWay[e.side].queue.median() / 1e9
	e.reverse = e.c.oneWay[1-e.side].queue.median() / 1e9
	if up := (l.up.median() - float64(l.upMin)) / 1e9; e.vantage != atSender && up > e.forward {
		e.reverse += up - e.forward
	}
}

func (e *evidence) windows() {
	s := e.s
	e.window = float64(s.window)
	if s.winStop.n > 0 {
		e.window = s.winStop.median()
		e.constant = s.winStop.quantile(0.25) >= 0.75*float64(s.winStop.max)
	}
	if s.winMax > 0 && e.window == 0 {
		e.window = float64(s.winMax)
	}
	if e.medRTT > 0 {
		e.windowRate = e.window * 8 / e.medRTT
	}
}

// grow measures how the flight rose from one round trip to the next.
func (e *evidence) grow() {
	n := min(e.s.epoch.n, len(e.s.epoch.flight))
	f := e.s.epoch.flight[:n]
	if n < 2 || f[0] == 0 {
		return
	}
	peak := 0
	for i := range f {
		if f[i] > f[peak] {
			peak = i
		}
	}
	if peak > 0 {
		e.rise = float64(f[peak]) / float64(f[0])
		e.growth = math.Pow(float64(f[peak])/float64(f[0]), 1/float64(peak))
		e.growing = float64(peak) / float64(max(e.s.epoch.n-1, 1))
	}
}

func (e *evidence) losses() {
	l := &e.s.loss
	n := float64(max(e.s.segments, 1))
	e.resent = float64(l.retransmits) / n
	e.genuine = float64(l.retransmits - l.needless())
	e.lossRate = float64(l.events) / n
	if e.lossRate > 0 && e.medRTT > 0 {
		e.mathis = 1.22 * e.full * 8 / (e.medRTT * math.Sqrt(e.lossRate))
	}
	e.overflow = float64(l.overflows) / float64(max(l.events, 1))
	if sum := e.s.una - e.s.origin(); sum > 0 {
		e.unseen = float64(l.unseen) / float64(sum)
	}
}

// origin is where the direction's data began.
func (s *sender) origin() int64 { return s.next - max(s.bytes+s.loss.unseen, 1) }

// wireBytes is the byte times that the data took on an Ethernet: every segment
// of a super-segment gets headers of its own.
func (s *sender) wireBytes() float64 {
	if s.records == 0 {
		return 0
	}
	headers := float64(s.headers)/float64(s.records) + frame.FCS + frame.Gap
	return float64(s.bytes+s.loss.retransBytes) + headers*float64(s.segments+s.loss.retransmits)
}
