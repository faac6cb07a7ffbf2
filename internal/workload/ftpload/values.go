package ftpload

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/result"
)

// grown takes the growth of counters from before to after. One that is missing
// before began during the trial, as those of its connections do.
func grown(before, after []result.Value) []result.Value {
	for _, v := range after {
		m, _ := result.Lookup(v.Metric)
		had := slices.ContainsFunc(before, func(e result.Value) bool { return e.Metric == v.Metric && maps.Equal(e.Labels, v.Labels) })
		if m.Kind == result.Counter && !had {
			v.V = 0
			before = append(before, v)
		}
	}
	return result.Delta(before, after)
}

// values makes the figures of a trial.
func (l *Load) values(d Direction, bytes float64, took time.Duration, counted []result.Value) []result.Value {
	vs := []result.Value{result.Bytes.Of(bytes)}
	if took > 0 && bytes > 0 {
		vs = append(vs, result.Goodput.Of(8*bytes/took.Seconds()))
	}
	const gib = 1 << 30
	if s, ok := result.Sum(counted, result.ProcessCPU); ok && bytes > 0 {
		vs = append(vs, result.CPUPerGiB.Of(s*gib/bytes, "process", "client"))
	}
	if d == Get {
		counted = receiver(counted, bytes)
	}
	for _, v := range counted {
		// One window bounds each stream; goodput is of all of them.
		if v.Metric == result.TCPWindow.Name {
			v.V *= float64(l.Streams)
		}
		switch flow, ok := v.Labels["flow"]; {
		case ok && flow == string(d): // the trial's direction says which; zero may be the point
			v.Labels = maps.Clone(v.Labels)
			delete(v.Labels, "flow")
			vs = append(vs, v)
		case !ok && v.V != 0:
			vs = append(vs, v)
		}
	}
	return vs
}

// receiver leaves out what only the sender of a transfer knows. A receiver
// knows its own window, and how large segments arrive.
func receiver(vs []result.Value, bytes float64) []result.Value {
	sender := []result.Metric{result.TCPBusy, result.TCPRwndLimited, result.TCPSndbufLimited, result.TCPCwnd, result.TCPRetransmits,
		result.TCPSendBuffer, result.TCPInFlight, result.TCPPacingRate, result.TCPDeliveryRate, result.DataSegmentsOut}
	var out []result.Value
	for _, v := range vs {
		unknown := slices.ContainsFunc(sender, func(m result.Metric) bool { return m.Name == v.Metric })
		if !unknown && v.Labels["window"] != "send" {
			out = append(out, v)
		}
	}
	if n, ok := result.Sum(vs, result.DataSegmentsIn, "flow", string(Get)); ok && n > 0 {
		headers := frame.HeaderBytes + frame.Stack{Timestamps: true}.Headers()
		out = append(out, result.FrameSize.Of(bytes/n+float64(headers)))
	}
	return out
}

// Totals returns the median goodput of each direction, the slower first, so
// that a target is held by both, and all payload.
func (l *Load) Totals() []result.Value {
	goodput := map[Direction][]float64{}
	for _, t := range l.Trials() {
		if g, ok := result.Get(t.Values, result.Goodput); ok && t.Pass {
			d := Direction(t.Params["direction"])
			goodput[d] = append(goodput[d], g)
		}
	}
	var vs []result.Value
	for d, gs := range goodput {
		vs = append(vs, result.Goodput.Of(result.Summarize(gs).Median, "direction", string(d)))
	}
	slices.SortFunc(vs, func(a, b result.Value) int { return cmp.Compare(a.V, b.V) })
	return append(vs, result.FTPBytes.Of(float64(l.get.Load()), "direction", string(Get)), result.FTPBytes.Of(float64(l.put.Load()), "direction", string(Put)))
}
