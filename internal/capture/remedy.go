package capture

import (
	"fmt"
	"strings"

	"github.com/linerate/linerate/result"
)

// remedy explains one verdict with this direction's figures, and says which
// lever to turn and what it should bring.
func (x *Connection) remedy(rule string) result.Finding {
	e := x.e
	s, l := e.s, &e.s.loss
	f := result.Finding{Rule: rule}
	rate := result.FormatRate(e.rate)
	spent := e.shares()
	switch rule {
	case "tcp.mtu-black-hole":
		f.Text = fmt.Sprintf("MTU black hole: segments of %d B arrive, none of %d B ever did, and no router said so (%d timeouts).", l.blackhole.clean, l.blackhole.top, l.timeouts)
		if e.vantage != atSender && l.blackhole.top == 0 {
			f.Text = fmt.Sprintf("MTU black hole suspected: no segment longer than %d B got here though %d B was agreed, and data is missing.", s.sizes.max, e.c.segmentLimit())
		}
		f.Filter, f.Frames = "tcp.analysis.retransmission", examples(l.frames)
		f.Levers = []result.Advice{{Lever: "sysctl.net.ipv4.tcp_mtu_probing", Value: "1", End: "sender"}}
		f.Gain, f.Ref = "transfers that now hang will run", "RFC 4821, RFC 8899"
	case "tcp.zero-window":
		f.Text = fmt.Sprintf("The receiving application reads too slowly: the window was closed %d times for %.0f %% of the time (%s).", s.zeroTimes, 100*e.share[stateZero], spent)
		f.Filter, f.Frames = "tcp.window_size==0", e.longest(stateZero)
		f.Next, f.Ref = "look at the receiver's CPU, disk and read loop", "RFC 9293 3.8.6"
	case "tcp.nagle-delayed-ack":
		u := &s.turns
		f.Text = fmt.Sprintf("Nagle's algorithm waits for a delayed acknowledgement: %d stalls of %.0f ms, %.0f %% of the time.", u.stalls, u.stallTimes.median()/1e6, 100*seconds(u.stalled)/e.duration)
		f.Filter, f.Frames = "tcp.len>0", examples(u.frames)
		f.Next = "set TCP_NODELAY, or write each message with one call"
		f.Gain = fmt.Sprintf("about %.0f times the messages per second", 1/max(1-seconds(u.stalled)/e.duration, 0.01))
		f.Trade, f.Ref = "more small segments", "RFC 9293 3.7.4, 3.8.6.3"
	case "tcp.silence-upstream":
		f.Text = fmt.Sprintf("The data stopped on its way here: up to %.1f s of silence, then the sender started anew or was found to have sent more.", seconds(max(l.silences.lost, l.silences.total)))
		f.Filter, f.Frames = "tcp.analysis.lost_segment", examples(l.silences.frames)
		f.Next, f.Ref = "capture at the sender too, and look for the hop that drops", "RFC 6298"
	case "tcp.rto-stall":
		f.Text = fmt.Sprintf("A retransmission timeout stalled it: %d timeouts in %d loss events took %.0f %% of the time.", l.timeouts, l.events, 100*e.share[stateRecovery])
		f.Filter, f.Frames = "tcp.analysis.rto", examples(l.frames)
		f.Next, f.Ref = "find what dropped the whole tail: a path outage, a full ring, a short queue", "RFC 6298, RFC 8985"
	case "tcp.request-response":
		u := &s.turns
		f.Text = fmt.Sprintf("One request at a time: %d of %d bursts waited for the peer's answer, %.2f ms each at best (%s).", u.answered, u.starts, 1e3*e.minRTT, spent)
		f.Filter, f.Frames = "tcp.len>0", e.longest(stateIdle, stateApp)
		f.Next = "send the next request before the answer (pipeline), or make messages larger"
	case "tcp.small-segments":
		f.Text = fmt.Sprintf("Small writes: most segments carry %d B of %.0f possible, %.0f a second at %s.", s.sizes.mode(), e.full, float64(s.segments)/e.duration, rate)
		f.Filter, f.Frames = fmt.Sprintf("tcp.len>0 && tcp.len<%.0f", e.full), e.longest(stateApp, stateOpen)
		f.Next = "write at least a segment at a time"
		f.Gain = fmt.Sprintf("up to %.0f times fewer segments for the same data", e.full/max(float64(s.sizes.mode()), 1))
	case "tcp.application":
		f.Text = fmt.Sprintf("The sender host's application has nothing to send: idle or waiting for data %.0f %% of the time at %s (%s).", 100*(e.share[stateIdle]+e.share[stateApp]), rate, spent)
		f.Filter, f.Frames = "tcp.len>0", e.longest(stateIdle, stateApp)
		f.Next = "look at the sending application: its source, disk or loop"
	case "tcp.receive-window":
		x.windowRemedy(&f)
	case "tcp.reverse-path":
		f.Text = fmt.Sprintf("The way back is congested: acknowledgements queue for %.0f ms of the %.0f ms that the round trip grew.", 1e3*e.reverse, 1e3*(e.medRTT-e.minRTT))
		f.Evidence = []result.Value{result.TCPQueueDelay.Of(e.reverse, "direction", "reverse"), result.TCPQueueDelay.Of(e.forward, "direction", "forward"), result.TCPACKRate.Of(e.ackRate)}
		if !e.c.timestamps {
			f.Text = fmt.Sprintf("The way back is congested: acknowledgements that left together come one every %.2f ms, whatever each is worth.", e.tick()*1e3)
			f.Evidence = []result.Value{result.TCPACKRate.Of(e.ackRate), result.SegmentsPerACK.Of(e.segsACK), result.TCPRTT.Of(e.medRTT)}
		}
		f.Next = "give acknowledgements priority, thin them, or shape what else goes that way"
		f.Ref = "RFC 3449"
	case "tcp.bandwidth":
		f.Text = fmt.Sprintf("A link of about %s is full (%s on the wire): the queue before it makes the round trip %.1f times the path's %.2f ms.", result.FormatBits(e.rateHigh), result.FormatBits(e.wire), e.queue, 1e3*e.minRTT)
		if e.ownQueue() {
			f.Text = fmt.Sprintf("The sender's own link of about %s is full (%s on the wire): data waits %.1f ms in its queueing discipline or NIC.", result.FormatBits(e.rateHigh), result.FormatBits(e.wire), 1e3*e.forward)
		}
		f.Evidence = []result.Value{result.TCPWireRate.Of(e.wire), result.Goodput.Of(e.rate), result.TCPRTT.Of(e.medRTT), result.TCPMinRTT.Of(e.minRTT), result.TCPLossEvents.Of(float64(l.events))}
		f.Next = "it is at line rate, or find the shaper; losses here are the symptom"
	case "tcp.loss":
		f.Text = fmt.Sprintf("Losses hold the congestion window down: %d loss events, %.2f %% resent; this loss bounds the rate to about %s.", l.events, 100*e.resent, result.FormatRate(e.mathis))
		f.Evidence = []result.Value{result.TCPLossEvents.Of(float64(l.events)), result.TCPRetransmits.Of(float64(l.retransmits)), result.TCPLossBound.Of(e.mathis), result.Goodput.Of(e.rate)}
		f.Filter, f.Frames = "tcp.analysis.retransmission", examples(l.frames)
		f.Next, f.Ref = "find the hop that loses: cable, ring, pause frames, policer", "Mathis et al., CCR 27(3) 1997"
		f.Levers = []result.Advice{{Lever: "sysctl.net.ipv4.tcp_congestion_control", Value: "bbr", End: "sender"}}
	case "tcp.reordering":
		f.Text = fmt.Sprintf("The path reorders, which looks like loss: %.0f %% of the time went to repairs, and %d of %d retransmissions were needless.", 100*e.share[stateRecovery], l.needless(), l.retransmits)
		f.Evidence = []result.Value{result.TCPReordered.Of(float64(l.reordered)), result.TCPRetransmits.Of(float64(l.retransmits)), result.TCPStateSeconds.Of(seconds(e.total[stateRecovery]), "state", stateRecovery.String())}
		f.Filter, f.Frames = "tcp.analysis.duplicate_ack", e.longest(stateRecovery)
		f.Next, f.Ref = "look for frames of one flow on several links or queues", "RFC 4737, RFC 8985"
	case "tcp.slow-start":
		f.Text = fmt.Sprintf("Over before it got fast: %.1f round trips, the flight grew %.1f-fold in each.", e.turns, e.growth)
		f.Next, f.Ref = "keep connections open, or move more at a time", "RFC 6928"
	case "tcp.send-buffer":
		f.Text = fmt.Sprintf("The sender never has more than about %s in flight, and sends only as acknowledgements come: a send buffer or a clamped window.", bytesOf(e.flight80))
		f.Evidence = []result.Value{result.TCPInFlight.Of(e.flightMed), result.TCPRTT.Of(e.medRTT), result.Goodput.Of(e.rate), result.TCPWindow.Of(e.window)}
		f.Levers = []result.Advice{{Lever: "sysctl.net.ipv4.tcp_wmem", Value: fmt.Sprintf("4096 65536 %.0f", 4*e.flight80), End: "sender"}}
		f.Gain = x.with("a send buffer", 4*e.flight80)
		f.Trade = "memory per connection"
	case "tcp.sender-host":
		f.Text = fmt.Sprintf("The sender host (its application or CPU): it sends at %s, not when acknowledgements arrive, and nothing on the path or at the receiver stops it (%s).", rate, spent)
		f.Filter, f.Frames = "tcp.len>0", e.longest(stateOpen)
		f.Next = "profile the sender: CPU per core, writes, interrupt pacing, offloads"
	case mixed:
		f.Text = fmt.Sprintf("No single limit at %s: %s.", rate, spent)
		f.Next = "capture a longer transfer, at the sender"
	default:
		f.Text = "Not enough evidence: " + strings.Join(append(e.doubts(x.v), "too little data, or one direction only"), "; ") + "."
		f.Next = "capture both directions of a longer transfer, at the sender"
	}
	return f
}

// windowRemedy tells a buffer that is too small from an application that reads
// too slowly: the former offers a constant window.
func (x *Connection) windowRemedy(f *result.Finding) {
	e := x.e
	f.Text = fmt.Sprintf("The receive window of %s stops the sender %.0f %% of the time: window / RTT = %s.", bytesOf(e.window), 100*e.share[stateWindow], result.FormatRate(e.windowRate))
	f.Evidence = []result.Value{result.TCPWindow.Of(e.window), result.TCPRTT.Of(e.medRTT), result.TCPWindowBound.Of(e.windowRate), result.Goodput.Of(e.rate)}
	f.Frames, f.Ref = e.longest(stateWindow), "RFC 7323 1.1"
	if !e.constant {
		f.Text += " It varies: the receiving application does not keep up."
		f.Next = "look at the receiver's read loop"
		return
	}
	larger := max(4*e.window, 256<<10)
	shift, known := e.c.flow.scale(1 - e.side)
	if known && shift == 0 && larger > 65535 {
		f.Text += " It is not scaled."
		f.Levers = append(f.Levers, result.Advice{Lever: "sysctl.net.ipv4.tcp_window_scaling", Value: "1", End: "receiver"})
	}
	f.Levers = append(f.Levers, result.Advice{Lever: "sysctl.net.ipv4.tcp_rmem", Value: fmt.Sprintf("4096 131072 %.0f", 2*larger), End: "receiver"})
	f.Gain, f.Trade = x.with("a window", larger), "memory per connection"
}

// with is the counterfactual: what a buffer of n bytes would allow, and what
// would bound it next.
func (x *Connection) with(what string, n float64) string {
	e := x.e
	rate, by := n*8/max(e.medRTT, 1e-9), "buffer / RTT"
	if b := e.bottleneck(); b > 0 && b < rate {
		rate, by = b, "the next link rate"
	}
	if e.mathis > 0 && e.mathis < rate {
		rate, by = e.mathis, "loss"
	}
	return fmt.Sprintf("with %s of %s: %s, bounded by %s", what, bytesOf(n), result.FormatRate(rate), by)
}

// longest returns the frames that ended the longest stays in any of the states.
func (e *evidence) longest(in ...state) []int {
	var out []int
	for _, s := range in {
		for _, l := range e.s.clock.longest[s] {
			if l.frame > 0 && len(out) < 3 {
				out = append(out, int(l.frame))
			}
		}
	}
	return out
}

func examples(f [3]uint32) []int {
	var out []int
	for _, n := range f {
		if n > 0 {
			out = append(out, int(n))
		}
	}
	return out
}
