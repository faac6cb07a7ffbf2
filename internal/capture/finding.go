package capture

import (
	"fmt"
	"slices"
	"strings"

	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/result"
)

// findings turns the verdict into what a reader is told: what bounds the
// direction, what else nearly does, and why it isn't the window where it isn't.
func (x *Connection) findings() []result.Finding {
	e := x.e
	f := x.remedy(x.v.rule)
	f.Verdict, f.Confidence = result.Limits, x.v.confidence
	if x.v.rule == mixed || x.v.rule == unclear {
		f.Verdict = result.Unknown
	}
	f.Against = e.doubts(x.v)
	out := []result.Finding{x.complete(f)}
	if w, ok := x.notWindow(); ok {
		out = append(out, x.complete(w))
	}
	if a, ok := x.ackRate(); ok {
		out = append(out, x.complete(a))
	}
	return out
}

// complete fills in what every finding of the direction carries.
func (x *Connection) complete(f result.Finding) result.Finding {
	f.Trial = x.Name()
	if f.Evidence == nil {
		f.Evidence = x.e.clocks()
	}
	if f.Filter == "" {
		f.Filter = x.filter("")
	} else {
		f.Filter = x.filter(f.Filter)
	}
	return f
}

// filter is a Wireshark display filter of the connection's frames that also
// match also.
func (x *Connection) filter(also string) string {
	ip := "ip.addr"
	if x.From.Addr().Is6() {
		ip = "ipv6.addr"
	}
	s := fmt.Sprintf("%s==%s && %s==%s && tcp.port==%d && tcp.port==%d", ip, x.From.Addr(), ip, x.To.Addr(), x.From.Port(), x.To.Port())
	if also != "" {
		s += " && " + also
	}
	return s
}

// clocks is the time in each state, the longest first.
func (e *evidence) clocks() []result.Value {
	var vs []result.Value
	for i, t := range e.total {
		if e.share[i] >= 0.01 {
			vs = append(vs, result.TCPStateSeconds.Of(seconds(t), "state", state(i).String()))
		}
	}
	slices.SortFunc(vs, func(a, b result.Value) int {
		if a.V > b.V {
			return -1
		}
		return 1
	})
	return vs
}

// shares says in words where the time went.
func (e *evidence) shares() string {
	type part struct {
		s state
		v float64
	}
	var parts []part
	for i, v := range e.share {
		if v >= 0.05 {
			parts = append(parts, part{state(i), v})
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return int(1e6 * (b.v - a.v)) })
	var words []string
	for _, p := range parts {
		words = append(words, fmt.Sprintf("%.0f %% %s", 100*p.v, p.s))
	}
	return strings.Join(words, ", ")
}

// doubts are what speaks against the verdict.
func (e *evidence) doubts(v verdict) []string {
	var out []string
	if len(v.also) > 0 {
		out = append(out, "also near: "+strings.Join(v.also, ", "))
	}
	if e.unseen > 0.001 {
		out = append(out, fmt.Sprintf("the capture missed %.2f %% of the bytes acknowledged", 100*e.unseen))
	}
	if e.c.optionsCut {
		out = append(out, "TCP options are cut by the snapshot length: no timestamps, SACK or window scale")
	}
	if _, known := e.c.flow.scale(1 - e.side); !known {
		out = append(out, fmt.Sprintf("no handshake in the capture: the window scale is unknown, at least %d", e.s.unscaled))
	}
	if e.vantage != atSender && e.vantage != local && e.blind() {
		out = append(out, "no timestamps: the sender's half of the round trip is known from the handshake only; capture at the sender")
	}
	if e.vantage == unknownVantage {
		out = append(out, "the capture point could not be placed on the path")
	}
	if e.c.frames > 0 && float64(e.c.duplicates)/float64(e.c.frames) > 0.2 {
		out = append(out, "every frame seems captured twice (a mirror of both directions, or all interfaces); copies were left out")
	}
	if e.turns < 10 && e.minRTT > 0 {
		out = append(out, fmt.Sprintf("only %.1f round trips long", e.turns))
	}
	return out
}

// notWindow says that the window is not the limit where it clearly isn't: the
// first thing that everyone suspects.
func (x *Connection) notWindow() (result.Finding, bool) {
	e := x.e
	if e.windowRate < 1.3*e.rate || e.window == 0 || e.share[stateWindow]+e.share[stateZero] > 0.3 || x.v.rule == unclear {
		return result.Finding{}, false
	}
	return result.Finding{
		Rule: "tcp.window", Verdict: result.DoesNotLimit, Confidence: x.v.confidence,
		Text: fmt.Sprintf("Not the receive window: %s in %.2f ms would allow %s, and it stopped the sender for %.0f %% of the time.",
			bytesOf(e.window), 1e3*e.medRTT, result.FormatRate(e.windowRate), 100*(e.share[stateWindow]+e.share[stateZero])),
		Evidence: []result.Value{result.TCPWindow.Of(e.window), result.TCPRTT.Of(e.medRTT), result.TCPWindowBound.Of(e.windowRate), result.Goodput.Of(e.rate)},
		Ref:      "RFC 7323 1.1",
	}, true
}

// ackLoad is the rate of acknowledgements above which a small host feels them.
const ackLoad = 5000

// ackRate says where a sender that is short of CPU answers an acknowledgement
// for every other segment.
func (x *Connection) ackRate() (result.Finding, bool) {
	e := x.e
	if x.v.rule != "tcp.sender-host" || e.segsACK > 2.7 || e.ackRate < ackLoad {
		return result.Finding{}, false
	}
	return result.Finding{
		Rule: "tcp.ack-rate", Verdict: result.Unknown,
		Text: fmt.Sprintf("The receiver acknowledges every %.1f segments, %.0f times a second; each costs the sender an interrupt or a share of one. Acknowledging every 10 would leave %.0f.",
			e.segsACK, e.ackRate, e.ackRate*e.segsACK/10),
		Evidence: []result.Value{result.SegmentsPerACK.Of(e.segsACK), result.TCPACKRate.Of(e.ackRate)},
		Next:     "lower the rate of acknowledgements at the receiver and measure again",
		Gain:     "less CPU per byte at the sender",
		Trade:    "slower start and repair",
		Ref:      "RFC 5681 4.2",
		Levers:   []result.Advice{{Lever: "ethtool.coalesce.rx-usecs", Value: "50", End: "receiver"}},
	}, true
}

// bytesOf shows a window in the binary units buffers are set in.
func bytesOf(n float64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%.1f MiB", n/(1<<20))
	}
	if n >= 8<<10 {
		return fmt.Sprintf("%.0f KiB", n/(1<<10))
	}
	return fmt.Sprintf("%.0f B", n)
}

// bottleneck is the greatest goodput of the link rate that the wire rate fits
// in, with these segments.
func (e *evidence) bottleneck() float64 {
	for _, r := range linkRates() {
		if e.wire <= r*1.005 {
			per := e.full + float64(e.s.headers)/float64(max(e.s.records, 1)) + frame.FCS + frame.Gap
			return r * e.full / per
		}
	}
	return 0
}
