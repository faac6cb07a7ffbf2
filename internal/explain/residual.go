package explain

import (
	"fmt"

	"github.com/linerate/linerate/result"
)

func residualRules() []Rule {
	return []Rule{{ID: "app.limited", Code: "R-TCP-4", Group: Stack, Title: "The application, or a serial step, is the limit", Ref: "RFC 6349 3.3.1", Check: applicationLimited}}
}

// applicationLimited is what remains when much less is in flight (Little's law:
// goodput x RTT) than the window would allow, no core is full and nothing is
// lost: the data does not come fast enough, or one station on the way serves
// it one by one.
func applicationLimited(v View) (result.Finding, bool) {
	got, ok := v.Get(result.Goodput)
	window, rtt, form := windowAndRTT(v)
	if !ok || !form {
		return result.Finding{}, false
	}
	if limit, ok := v.Get(result.LineLimit); ok && got >= atLine*limit {
		return result.Finding{}, false
	}
	inFlight := got * rtt / 8
	f := result.Finding{
		Verdict: result.DoesNotLimit, Confidence: 0.6,
		Text:     fmt.Sprintf("%.0f bytes are in flight of a window of %.0f", inFlight, window),
		Evidence: []result.Value{result.Goodput.Of(got), result.TCPRTT.Of(rtt), result.TCPWindow.Of(window), result.TCPInFlight.Of(inFlight)},
	}
	_, core, _, process := v.Busiest()
	busy := max(core, process)
	switch {
	case inFlight >= idleFlight*window:
		return f, true
	case busy >= freeCore:
		f.Against = append(f.Against, fmt.Sprintf("the CPU is %.0f %% busy", 100*busy))
		return f, true
	case lossShare(v) > lossy:
		f.Against = append(f.Against, fmt.Sprintf("%.2g %% of segments were sent again", 100*lossShare(v)))
		return f, true
	}
	f.Verdict = result.Limits
	f.Text += " and no core is full: the application or one serial step does not keep up"
	f.Next = "time one send and one receive in the application; count interrupts and packets per interrupt"
	f.Trade = "gathering interrupts adds its timer to every packet's delay"
	f.Levers = []result.Advice{{Lever: "ethtool.coalesce.rx-usecs", Value: "50"}}
	return f, true
}

func lossShare(v View) float64 {
	if share, ok := v.Get(result.RetransmitShare); ok {
		return share
	}
	again, _ := v.Sum(result.TCPRetransmits)
	sent, ok := v.Sum(result.DataSegmentsOut)
	if !ok || sent <= 0 {
		return 0
	}
	return again / sent
}
