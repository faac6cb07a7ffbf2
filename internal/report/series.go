package report

import (
	"slices"
	"strings"
	"time"

	"github.com/linerate/linerate/result"
)

// view is a family of curves over time worth showing to everyone; whatever
// else was read stays in JSON and CSV.
type view struct {
	title  string
	unit   string
	metric result.Metric
	beside []result.Metric // of the same kind and unit, drawn with it
	by     []string        // labels that tell curves apart; values that differ in others are added up
	factor float64
	skip   func(result.Value) bool
	quiet  bool // shown only where it is not zero throughout
}

// views of readings, the most telling first.
func views() []view {
	idle := func(v result.Value) bool { return v.Labels["mode"] == "idle" || v.Labels["mode"] == "iowait" }
	return []view{
		{title: "goodput", unit: "bit/s", metric: result.Bytes, by: []string{"direction"}, factor: 8},
		{title: "FTP goodput", unit: "bit/s", metric: result.FTPBytes, by: []string{"direction"}, factor: 8},
		{title: "interface rate", unit: "bit/s", metric: result.NICBytes, by: []string{"interface", "direction"}, factor: 8, quiet: true},
		{title: "frames", unit: "frame/s", metric: result.NICFrames, by: []string{"interface", "direction"}, factor: 1, quiet: true},
		{title: "cores busy", unit: "core", metric: result.CPUSeconds, by: []string{"cpu"}, factor: 1, skip: idle},
		{title: "cores busy, process", unit: "core", metric: result.ProcessCPU, by: []string{"process"}, factor: 1, quiet: true},
		{title: "RTT", unit: "s", metric: result.TCPRTT, by: []string{"flow"}, factor: 1, quiet: true},
		{title: "congestion window", unit: "segment", metric: result.TCPCwnd, by: []string{"flow"}, factor: 1, quiet: true},
		{title: "window and flight", unit: "B", metric: result.TCPWindow, beside: []result.Metric{result.TCPInFlight}, by: []string{"flow", "direction"}, factor: 1, quiet: true},
		{title: "bytes per ACK", unit: "B", metric: result.BytesPerACK, by: []string{"flow", "direction"}, factor: 1, quiet: true},
		{title: "time-sequence", unit: "B", metric: result.TCPSequence, by: []string{"flow", "edge"}, factor: 1, quiet: true},
		{title: "retransmits", unit: "segment/s", metric: result.TCPRetransmits, by: []string{"flow"}, factor: 1, quiet: true},
		{title: "drops", unit: "frame/s", metric: result.NICDropped, by: []string{"interface", "direction"}, factor: 1, quiet: true},
		{title: "backlog drops", unit: "frame/s", metric: result.SoftnetDropped, factor: 1, quiet: true},
	}
}

// curve is one figure over time.
type curve struct {
	name string
	at   []time.Duration // end of the interval that the figure covers
	v    []float64
}

// curves derives the curves of v from readings: counters become rates over the
// interval since the reading before of the same end; gauges stand as read.
func (v view) curves(readings []result.Reading) []curve {
	var out []curve
	last := map[string]result.Reading{}
	ends := map[string]bool{}
	for _, r := range readings {
		ends[r.End] = true
	}
	for _, r := range readings {
		before, ok := last[r.End]
		last[r.End] = r
		over := (r.At - before.At).Seconds()
		if v.metric.Kind == result.Counter && (!ok || over <= 0) {
			continue
		}
		values := v.pick(r.Values)
		if v.metric.Kind == result.Counter {
			values = result.Delta(v.pick(before.Values), values)
		} else {
			over = 1
		}
		var names []string
		sums := map[string]float64{}
		for _, x := range values {
			name := v.name(x)
			if len(ends) > 1 {
				name = strings.TrimSpace(r.End + " " + name)
			}
			if _, seen := sums[name]; !seen {
				names = append(names, name)
			}
			sums[name] += x.V * v.factor / over
		}
		for _, n := range names {
			i := slices.IndexFunc(out, func(c curve) bool { return c.name == n })
			if i < 0 {
				i, out = len(out), append(out, curve{name: n})
			}
			out[i].at, out[i].v = append(out[i].at, r.At), append(out[i].v, sums[n])
		}
	}
	if v.quiet {
		out = slices.DeleteFunc(out, func(c curve) bool {
			return !slices.ContainsFunc(c.v, func(x float64) bool { return x != 0 })
		})
	}
	return out
}

func (v view) pick(vs []result.Value) []result.Value {
	var out []result.Value
	for _, x := range vs {
		wanted := x.Metric == v.metric.Name || slices.ContainsFunc(v.beside, func(m result.Metric) bool { return m.Name == x.Metric })
		if wanted && (v.skip == nil || !v.skip(x)) {
			out = append(out, x)
		}
	}
	return out
}

// name tells a value's curve from the others of the view.
func (v view) name(x result.Value) string {
	var parts []string
	if len(v.beside) > 0 {
		parts = append(parts, heading(x.Metric))
	}
	for _, k := range v.by {
		if s := x.Labels[k]; s != "" {
			if k == "cpu" {
				s = "cpu " + s
			}
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, " ")
}
