package explain

import (
	"fmt"

	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/result"
)

func lineRules() []Rule {
	return []Rule{{ID: "line.at-rate", Code: "R-MEAS-4", Title: "The line is the limit", Ref: "IEEE 802.3 3.1, 4.4.2", Check: atLineRate}}
}

// atLineRate compares goodput with what framing leaves of the line's rate.
func atLineRate(v View) (result.Finding, bool) {
	got, ok1 := v.Goodput()
	limit, ok2 := v.Get(result.LineLimit)
	if !ok1 || !ok2 || limit <= 0 {
		return result.Finding{}, false
	}
	// What else the machine does takes from goodput and never adds to it: the line
	// is full where a quarter of the repeats filled it. A shaper's first burst may
	// bring more than the line.
	if best := min(v.Best, limit); v.Direction == "" && best > got {
		got = best
	}
	share := got / limit
	f := result.Finding{
		Verdict: result.DoesNotLimit, Confidence: 0.95,
		Text:     fmt.Sprintf("goodput is %.1f %% of the line's limit of %s", 100*share, result.FormatBits(limit)),
		Evidence: []result.Value{result.Goodput.Of(got), result.LineLimit.Of(limit)},
	}
	dropped, _ := v.Number("drops.qdisc")
	overflows := dropped > 0 && v.Word("protocol") == "tcp"
	switch {
	case share > overLine:
		f.Verdict, f.Confidence = result.Unknown, 0
		f.Text += ": more than it can carry, so the figure or the stated rate is wrong"
		f.Next = "measure for longer, and count at the receiver"
	case share >= nearLine && share < atLine && overflows:
		f.Verdict, f.Confidence = result.Limits, 0.9
		f.Text += ": the queue before the line overflows, so it took all it could; what is missing went by while the sender had no turn"
		f.Gain, f.Trade = "none but by a faster line", "none"
		f.Evidence = append(f.Evidence, result.NetworkCounter.Of(dropped, "counter", "QdiscDrops"))
	case share >= atLine:
		f.Verdict = result.Limits
		f.Text += ": at line rate, nothing more to gain but by larger frames or a faster link"
		f.Gain = fmt.Sprintf("jumbo frames: %+.1f %%", 100*(jumboGain()-1))
		f.Trade = "every host and switch of the segment must take the MTU"
		f.Levers = []result.Advice{{Lever: "link.mtu", Value: "9000"}}
	}
	return f, true
}

// jumboGain is the line limit at an MTU of 9000 over that at 1500.
func jumboGain() float64 {
	tcp := frame.Stack{Timestamps: true}
	return tcp.Goodput(1, 9000) / tcp.Goodput(1, 1500)
}
