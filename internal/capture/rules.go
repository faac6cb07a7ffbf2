package capture

import "math"

// rule is one answer to what bounds a direction. score compares the evidence
// with the rule's threshold: 1 and more holds, half is worth a mention.
type rule struct {
	id    string
	local bool // also between two ends of one machine
	main  []state
	score func(*evidence) float64
}

// rules are tried in this order: what stops a sender altogether before what
// slows it, causes before their symptoms.
func rules() []rule {
	return []rule{
		{"tcp.mtu-black-hole", false, []state{stateRecovery, stateOpen}, blackHole},
		{"tcp.zero-window", true, []state{stateZero, stateWindow}, zeroWindow},
		{"tcp.nagle-delayed-ack", true, []state{stateApp, stateOpen}, nagle},
		{"tcp.silence-upstream", false, []state{stateIdle, stateApp, stateRecovery}, silence},
		{"tcp.rto-stall", false, []state{stateRecovery}, timeout},
		{"tcp.request-response", true, []state{stateIdle, stateApp}, requestResponse},
		{"tcp.small-segments", true, []state{stateApp, stateOpen}, smallSegments},
		{"tcp.application", true, []state{stateIdle, stateApp}, application},
		{"tcp.receive-window", true, []state{stateWindow, stateZero}, receiveWindow},
		{"tcp.slow-start", false, []state{stateOpen, stateIdle, stateApp}, slowStart},
		{"tcp.reverse-path", false, []state{stateOpen}, reversePath},
		{"tcp.bandwidth", true, []state{stateOpen, stateRecovery}, bandwidth},
		{"tcp.reordering", false, []state{stateRecovery, stateOpen}, reordering},
		{"tcp.loss", false, []state{stateOpen, stateRecovery}, loss},
		{"tcp.send-buffer", false, []state{stateOpen}, sendBuffer},
		{"tcp.sender-host", true, []state{stateOpen, stateApp}, senderHost},
	}
}

// all is the score of a rule whose every condition must hold: the least.
func all(scores ...float64) float64 {
	least := math.Inf(1)
	for _, s := range scores {
		least = min(least, s)
	}
	if math.IsNaN(least) {
		return 0
	}
	return least
}

// yes turns a condition that holds or doesn't into a score.
func yes(b bool) float64 {
	if b {
		return math.Inf(1)
	}
	return 0
}

// blackHole: segments of one size arrive, larger ones never, and the sender's
// timer ran out on them. At the receiver only the gaps show.
func blackHole(e *evidence) float64 {
	b := &e.s.loss.blackhole
	if e.c.tooBig > 0 {
		return 0 // path MTU discovery was told
	}
	if e.vantage != atSender && b.larger < 3 {
		limit := float64(e.c.segmentLimit())
		return all(yes(float64(e.s.sizes.max) < limit-28), yes(len(e.s.holes) > 0 || e.s.loss.upstream > 0),
			yes(e.s.sizes.total > 0 && e.duration > 0.2 || len(e.s.holes) > 0))
	}
	return all(yes(b.clean > 0), float64(b.larger)/3, float64(e.s.loss.timeouts)/2)
}

func zeroWindow(e *evidence) float64 {
	score := e.share[stateZero] / 0.10
	if e.s.zeroTimes >= 3 {
		score = max(score, e.share[stateZero]/0.03)
	}
	return score
}

func nagle(e *evidence) float64 {
	u := &e.s.turns
	return all(float64(u.stalls)/3, float64(u.stalled)/1e9/e.duration/0.30)
}

// silence is a dead path seen from behind it.
func silence(e *evidence) float64 {
	q := &e.s.loss.silences
	if e.vantage == atSender || e.vantage == local {
		return 0
	}
	if d := &e.c.quiet[e.side]; d.dead(e.c.ended) {
		q.lost = max(q.lost, d.lasting)
	}
	return max(all(float64(q.count), float64(q.total)/1e9/e.duration/0.5), float64(q.lost)/1e9/e.duration/0.5)
}

func timeout(e *evidence) float64 {
	l := &e.s.loss
	return all(float64(l.timeouts), e.share[stateRecovery]/0.5, yes(l.events <= 5))
}

func requestResponse(e *evidence) float64 {
	u := &e.s.turns
	return all(float64(u.starts)/5, float64(u.answered)/float64(u.starts)/0.8, (e.share[stateIdle]+e.share[stateApp])/0.2)
}

func smallSegments(e *evidence) float64 {
	s := e.s
	pace := float64(s.segments) / e.duration
	return all(float64(s.short)/float64(s.segments)/0.5, yes(float64(s.sizes.mode()) < e.full/2),
		yes(e.share[stateIdle] < 0.5 || pace > 2000), yes(s.segments >= 20))
}

// application: the send queue runs empty. Within one machine it also does for
// moments, while the scheduler turns to the receiver; that is the host.
func application(e *evidence) float64 {
	c := &e.s.clock
	waits := float64(c.entries[stateIdle] + c.entries[stateApp])
	mean := float64(c.total[stateIdle]+c.total[stateApp]) / 1e9 / max(waits, 1)
	empty := e.share[stateIdle] + e.share[stateApp]
	// A write that ends in a short segment, not sent in answer to an
	// acknowledgement, is a write that came late, though its full segments hide
	// part of the wait.
	short := float64(e.s.short) / float64(e.s.segments)
	paced := max(all(empty/0.2, short/0.025, yes(e.ackClocked < 0.75)), all(empty/0.1, short/0.05, yes(e.ackClocked < 0.85)))
	return all(max(empty/0.5, paced), yes(e.vantage != local || mean > 0.0005), yes(!e.ownQueue()))
}

// receiveWindow: a window that stops the sender sizes a queue instead where
// the round trip shows one.
func receiveWindow(e *evidence) float64 {
	if e.c.unscaled(e.s) && e.s.plateaus < 3 && !(e.constant && e.s.winStop.n > 100) {
		return 0
	}
	return all(e.share[stateWindow]/0.5, yes(e.queue < 1.5 || e.vantage == local || !e.constant && e.share[stateWindow] > 0.8))
}

func reversePath(e *evidence) float64 {
	if !e.c.timestamps {
		return e.slowACKs()
	}
	grown := e.medRTT - e.minRTT
	return all((e.queue-1)/0.3, e.reverse/(grown*0.5), e.reverse/0.005)
}

func bandwidth(e *evidence) float64 {
	steady := e.rateMedian / e.rateHigh / 0.8
	grown := e.medRTT - e.minRTT
	queued := all((e.queue-1)/0.3, grown/0.0005, steady)
	if grown < 0.002 && e.ackClocked < 0.6 {
		queued = min(queued, 0.5) // that little may be a busy host's doing
	}
	// Losses at a short queue keep the round trip low, but not the rate from
	// staying where the bottleneck holds it.
	ceiling := all(e.rateMedian/e.rateHigh/0.9, (e.queue-1)/0.1, grown/0.0005, yes(e.s.loss.events >= 2))
	// Or the losses come just when the queue is full.
	overflow := all(e.overflow/0.45, e.rateMedian/e.rateHigh/0.6, yes(e.s.loss.events >= 3))
	line := lineShare(e.wire)
	if e.ackClocked < 0.6 && line < 0.985 {
		line = 0 // the application's pace, near a link rate by chance
	}
	own := all(yes(e.ownQueue()), steady)
	if e.vantage == local {
		return own // round trips within a machine grow for other reasons
	}
	return max(own, queued, ceiling, overflow, all(line/0.95, steady, (e.queue-1)/0.1))
}

// linkRates are the rates of IEEE 802.3 links, in bit/s.
func linkRates() []float64 {
	return []float64{10e6, 100e6, 1e9, 2.5e9, 5e9, 10e9, 25e9, 40e9, 100e9}
}

// ownQueue reports whether data waits in the sender before the capture point, in
// its queueing discipline or its NIC: that is where the timestamps age.
func (e *evidence) ownQueue() bool {
	return e.vantage != atReceiver && e.forward > max(0.003, 5*e.minRTT)
}

// lineShare compares a wire rate with the standard link rate next above it.
func lineShare(wire float64) float64 {
	for _, r := range linkRates() {
		if wire <= r*1.005 {
			return wire / r
		}
	}
	return 0
}

func loss(e *evidence) float64 {
	l := &e.s.loss
	repair := all(yes(l.events > 0), e.share[stateRecovery]/0.4)
	return all(yes(e.genuine > 0.3*float64(l.retransmits)), max(repair, all(float64(l.events)/2, e.resent/0.0005, 2.5*e.rate/e.mathis)))
}

// reordering looks like loss to the sender, which repairs what needs none.
func reordering(e *evidence) float64 {
	return all(yes(e.s.loss.events > 0 || e.s.loss.dupAckTotal > 10), yes(e.genuine <= 0.3*float64(e.s.loss.retransmits)), e.share[stateRecovery]/0.3)
}

// opportunity is the number of segments below which a transfer is over before
// anything can bound it (T-RAT).
const opportunity = 13

func slowStart(e *evidence) float64 {
	l := &e.s.loss
	if e.s.segments < opportunity {
		return yes(l.events == 0)
	}
	quick := all(12/e.turns, e.growth/1.2, e.growing/0.6)
	rising := all(30/e.turns, e.rise/3, e.growing/0.8)
	return all(yes(e.genuine == 0), max(quick, rising))
}

func sendBuffer(e *evidence) float64 {
	return all(yes(e.s.segments >= opportunity), yes(e.growing < 0.8), max(e.ackClocked/0.6, yes(e.plateau())), yes(e.flight80 < 1.5*e.flightMed), yes(e.share[stateWindow] < 0.3), yes(e.resent < 0.001), yes(e.queue < 1.3))
}

// plateau reports whether the flight stayed within a segment: no pace hits the
// same number every time. It stands in for the acknowledgements' clock where
// nothing tells when the sender met them.
func (e *evidence) plateau() bool {
	return e.blind() && e.vantage != atSender && e.minRTT > 0.002 && e.flightMed >= 6*e.full && e.flight80-e.flight20 <= max(e.full, 0.04*e.flightMed)
}

func senderHost(e *evidence) float64 {
	return all((e.share[stateOpen]+e.share[stateApp]+e.local())/0.5, yes(e.ackClocked < 0.6 || e.vantage == local),
		0.3/(e.share[stateWindow]+e.share[stateZero]))
}

// local is the idle time that counts for the host: within one machine idle
// moments are the scheduler's.
func (e *evidence) local() float64 {
	if e.vantage == local {
		return e.share[stateIdle]
	}
	return 0
}
