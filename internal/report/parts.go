package report

import (
	"maps"
	"slices"

	"github.com/linerate/linerate/internal/report/plot"
	"github.com/linerate/linerate/result"
)

// testParam says which benchmark a trial is of, where one Result has several:
// each gets tables and plots of its own.
const testParam = "test"

// part is what belongs in one table: all trials, or those of one benchmark.
type part struct {
	title string
	matrix
}

// allTrials is the title of a part of trials that are of no benchmark.
const allTrials = "Trials"

// parts splits trials by benchmark.
func parts(trials []result.Trial) []part {
	if len(trials) == 0 {
		return nil
	}
	if slices.ContainsFunc(trials, func(t result.Trial) bool { return t.Params[testParam] == "" }) {
		return []part{{allTrials, newMatrix(trials)}}
	}
	var out []part
	for _, test := range distinct(trials, param(testParam)) {
		var of []result.Trial
		for _, t := range trials {
			if t.Params[testParam] == test {
				t.Params = maps.Clone(t.Params)
				delete(t.Params, testParam)
				of = append(of, t)
			}
		}
		out = append(out, part{benchmarkTitle(test), benchmarkMatrix(of)})
	}
	return out
}

// loadParam is the axis of the frame loss rate.
const loadParam = "load %"

// benchmarkMatrix has rows of loads where these vary, with a curve for each
// frame size, else rows of frame sizes (RFC 2544 section 26).
func benchmarkMatrix(trials []result.Trial) matrix {
	if len(distinct(trials, param(loadParam))) > 1 {
		m := arrange(trials, loadParam, []string{"size"})
		slices.SortStableFunc(m.rows, func(a, b mrow) int { return int(b.x - a.x) })
		return m
	}
	m := arrange(trials, "size", nil)
	m.numeric = numeric(trials, "size") && len(m.rows) > 1
	return m
}

// benchmarkTitle names a benchmark with its section.
func benchmarkTitle(test string) string {
	titles := map[string]string{
		"throughput": "Throughput (RFC 2544 26.1)", "latency": "Latency (RFC 2544 26.2)", "loss": "Frame loss rate (RFC 2544 26.3)",
		"b2b": "Back-to-back frames (RFC 2544 26.4, RFC 9004)", "recovery": "System recovery (RFC 2544 26.5)", "reset": "Reset (RFC 2544 26.6, RFC 6201)",
	}
	if t, ok := titles[test]; ok {
		return t
	}
	return test
}

// trials lists what is in the matrix, row by row.
func (m matrix) trials() []result.Trial {
	var out []result.Trial
	for _, r := range m.rows {
		for _, v := range m.variants {
			out = append(out, r.cells[v]...)
		}
	}
	return out
}

// lossAxes are those of RFC 2544 section 26.3: load and loss from 0 to 100 %.
func lossAxes(p *plot.Plot) {
	p.X = plot.Axis{Label: "load, % of the line's frame rate", Most: 100}
	p.Y = plot.Axis{Label: "frames lost, %", Most: 100}
	for i, s := range p.Series {
		for j := range s.Points {
			p.Series[i].Points[j].Y *= 100
		}
		slices.SortFunc(s.Points, func(a, b plot.Point) int { return int(a.X*10 - b.X*10) })
	}
}

// limitOf returns the metric that bounds another, which is drawn as a line over
// it and not as a figure of its own.
func limitOf(metric string) (result.Metric, bool) {
	switch metric {
	case result.Goodput.Name:
		return result.LineLimit, true
	case result.ThroughputRate.Name:
		return result.FrameLimit, true
	}
	return result.Metric{}, false
}

// isLimit reports whether a figure is drawn over another one that m has, or is
// what the row says already.
func (m matrix) isLimit(k figureKey) bool {
	switch k.metric {
	case result.LineLimit.Name:
		return m.has(result.Goodput)
	case result.FrameLimit.Name:
		return m.has(result.ThroughputRate) || m.head == loadParam
	case result.IntendedLoad.Name:
		return m.head == loadParam
	}
	return false
}

// together lists metrics whose figures make one plot: the quantiles of the
// latency, the two buffer times, a recovery by stamps and by counts.
func together(metric string) string {
	switch metric {
	case result.FrameLatency.Name, result.RecoverySeconds.Name, result.ResetSeconds.Name:
		return metric
	case result.ImpliedBuffer.Name, result.BufferSeconds.Name:
		return result.BufferSeconds.Name
	}
	return ""
}

// merged joins the plots of figures that belong together, in the place of the
// first.
func (m matrix) merged(figures []figureKey) []plot.Plot {
	var out []plot.Plot
	at := map[string]int{}
	for _, k := range figures {
		p := m.plot(k)
		if m.isLimit(k) || len(p.Series) == 0 {
			continue
		}
		group := together(k.metric)
		i, seen := at[group]
		if group == "" || len(m.variants) > 1 || !seen {
			at[group] = len(out)
			out = append(out, p)
			continue
		}
		out[i].Series = append(out[i].Series, p.Series...)
		out[i].Title = heading(group)
	}
	return out
}
