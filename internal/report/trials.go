package report

import (
	"maps"
	"slices"

	"github.com/linerate/linerate/result"
)

// matrix arranges trials for the eye: one row a step of a ladder or point of a
// sweep, one column a variant of it (get and put), repeats gathered in a cell.
type matrix struct {
	head     string // what the rows are: "step" or the parameter that varies
	rows     []mrow
	variants []string
	numeric  bool // rows are points of a sweep; mrow.x is their place on the axis
	repeats  int  // trials in the fullest cell
}

type mrow struct {
	name, note string
	trial      string // name of the trials, which findings refer to
	x          float64
	cells      map[string][]result.Trial // by variant
}

// figureKey identifies a figure that trials carry.
type figureKey struct{ metric, labels, unit string }

// figures splits what the trials of m carry into the most telling and the rest.
func (m matrix) figures() (telling, rest []figureKey) {
	all := m.ranked()
	n := min(6, len(all))
	return all[:n], all[n:]
}

// ranked lists what the trials of m carry, the most telling first; a metric
// with more than six sets of labels (one for each core, say) is left to CSV and
// JSON.
func (m matrix) ranked() []figureKey {
	var keys []figureKey
	sets := map[string]int{}
	for _, r := range m.rows {
		for _, v := range m.variants {
			for _, t := range r.cells[v] {
				for _, x := range t.Values {
					k := keyIn(t, x)
					if !slices.Contains(keys, k) {
						keys = append(keys, k)
						sets[x.Metric]++
					}
				}
			}
		}
	}
	keys = slices.DeleteFunc(keys, func(k figureKey) bool { return sets[k.metric] > 6 })
	rank := ranks()
	slices.SortStableFunc(keys, func(a, b figureKey) int { return rank[a.metric] - rank[b.metric] })
	return keys
}

// ranks orders metrics for a reader: what a link is judged by, then gauges in
// the order of the metric table, then counters.
func ranks() map[string]int {
	first := []result.Metric{
		result.ThroughputRate, result.FrameLossRatio, result.FramesLost, result.OfferedLoad,
		result.Goodput, result.LineLimit, result.LossRatio, result.TransactionRate, result.Latency, result.CPUPerGiB, result.FrameRate,
		result.BytesPerACK, result.FrameSize, result.Jitter, result.MessageRate, result.CPUPerByte, result.CPUShare, result.TCPRetransmits,
		result.TCPRTT, result.TCPWindow,
	}
	rank := map[string]int{}
	all := result.Metrics()
	for i, m := range all {
		rank[m.Name] = i + 1
		if m.Kind == result.Counter {
			rank[m.Name] += len(all)
		}
	}
	for i, m := range first {
		rank[m.Name] = i - len(first)
	}
	return rank
}

// summary of one figure in one cell.
func (r mrow) summary(variant string, k figureKey) result.Summary {
	return result.Summarize(collect(r.cells[variant], k))
}

// collect takes one figure out of trials.
func collect(trials []result.Trial, k figureKey) []float64 {
	var out []float64
	for _, t := range trials {
		for _, v := range t.Values {
			if v.Metric == k.metric && keyIn(t, v).labels == k.labels {
				out = append(out, v.V)
			}
		}
	}
	return out
}

// has reports whether any trial carries the figure.
func (m matrix) has(metric result.Metric) bool {
	return slices.ContainsFunc(m.ranked(), func(k figureKey) bool { return k.metric == metric.Name })
}

// keyIn identifies a value of a trial. A label that repeats a parameter, such as
// the direction, tells nothing.
func keyIn(t result.Trial, v result.Value) figureKey {
	own := maps.Clone(v.Labels)
	maps.DeleteFunc(own, func(k, s string) bool { p, ok := t.Params[k]; return ok && p == s })
	return figureKey{v.Metric, labels(own), v.Unit}
}

// keyOf identifies a metric without labels.
func keyOf(m result.Metric) figureKey { return figureKey{metric: m.Name, unit: m.Unit} }
