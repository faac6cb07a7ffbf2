package report

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/linerate/linerate/result"
)

// matrix arranges trials for the eye: one row a step of a ladder or point of a
// sweep, one column a variant of it (get and put), repeats gathered in a cell.
type matrix struct {
	head     string // what the rows are: "step" or the parameter that varies
	rows     []mrow
	variants []string
	numeric  bool // rows are points of a sweep; mrow.x is their place
	repeats  int  // trials in the fullest cell
}

type mrow struct {
	name, note string
	x          float64
	cells      map[string][]result.Trial // by variant
}

// stepParam and repeatParam number the steps of a ladder and the repeats of a
// trial; neither tells trials apart.
const (
	stepParam   = "step"
	repeatParam = "repeat"
)

// newMatrix finds what varies among trials and makes rows and variants of it.
func newMatrix(trials []result.Trial) matrix {
	key, head := rowKey(trials)
	m := matrix{head: head, numeric: head != stepParam}
	rest := slices.DeleteFunc(varying(trials), func(p string) bool {
		return p == head || p == stepParam || settled(trials, key, p)
	})
	if len(distinct(trials, joined(rest))) > 3 { // too many to stand side by side
		byRow := key
		join := joined(rest)
		key = func(t result.Trial) string { return strings.TrimSpace(byRow(t) + " " + join(t)) }
		rest, m.numeric = nil, false
	}
	variant := joined(rest)
	m.variants = distinct(trials, variant)
	index := map[string]int{}
	for _, t := range trials {
		k := key(t)
		i, seen := index[k]
		if !seen {
			i = len(m.rows)
			index[k] = i
			x, err := strconv.ParseFloat(k, 64)
			m.numeric = m.numeric && err == nil
			m.rows = append(m.rows, mrow{name: k, note: t.Note, x: x, cells: map[string][]result.Trial{}})
		}
		c := m.rows[i].cells
		c[variant(t)] = append(c[variant(t)], t)
		m.repeats = max(m.repeats, len(c[variant(t)]))
	}
	return m
}

// rowKey picks what names the rows: the step of a ladder, else the numeric
// parameter that takes most values (a size before others), else the name.
func rowKey(trials []result.Trial) (key func(result.Trial) string, head string) {
	byName := func(t result.Trial) string { return t.Name }
	best, most := "", 2
	for _, p := range varying(trials) {
		if p == stepParam {
			return byName, stepParam
		}
		n := len(distinct(trials, param(p)))
		if strings.Contains(p, "bytes") || strings.Contains(p, "size") {
			n += 1000
		}
		if n > most && numeric(trials, p) {
			best, most = p, n
		}
	}
	if best != "" {
		return param(best), best
	}
	return byName, stepParam
}

func param(p string) func(result.Trial) string {
	return func(t result.Trial) string { return t.Params[p] }
}

// joined names a trial by the values of several parameters.
func joined(ps []string) func(result.Trial) string {
	return func(t result.Trial) string {
		var vs []string
		for _, p := range ps {
			vs = append(vs, t.Params[p])
		}
		return strings.Join(vs, " ")
	}
}

// varying lists the parameters, repeats aside, that differ among trials.
func varying(trials []result.Trial) []string {
	first := map[string]string{}
	differ := map[string]bool{}
	for i, t := range trials {
		if i == 0 {
			first = t.Params
		}
		for p, v := range t.Params {
			if v0, ok := first[p]; !ok || v0 != v {
				differ[p] = true
			}
		}
		for p := range first {
			if _, ok := t.Params[p]; !ok {
				differ[p] = true
			}
		}
	}
	delete(differ, repeatParam)
	return slices.Sorted(maps.Keys(differ))
}

// settled reports whether the row alone decides the value of parameter p.
func settled(trials []result.Trial, row func(result.Trial) string, p string) bool {
	is := map[string]string{}
	for _, t := range trials {
		if v, seen := is[row(t)]; seen && v != t.Params[p] {
			return false
		}
		is[row(t)] = t.Params[p]
	}
	return true
}

func numeric(trials []result.Trial, p string) bool {
	for _, t := range trials {
		if _, err := strconv.ParseFloat(t.Params[p], 64); err != nil {
			return false
		}
	}
	return true
}

// distinct lists the values of f in order of appearance.
func distinct(trials []result.Trial, f func(result.Trial) string) []string {
	var out []string
	for _, t := range trials {
		if v := f(t); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// figureKey identifies a figure that trials carry.
type figureKey struct{ metric, labels, unit string }

// figures splits what the trials of m carry into the most telling and the rest.
func (m matrix) figures() (telling, rest []figureKey) {
	all := m.ranked()
	n := min(8, len(all))
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
					k := figureKey{x.Metric, labels(x.Labels), x.Unit}
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
	first := []result.Metric{result.Goodput, result.LineLimit, result.CPUPerGiB, result.FrameRate, result.BytesPerACK, result.FrameSize}
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
			if v.Metric == k.metric && labels(v.Labels) == k.labels {
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

// key of a metric without labels.
func keyOf(m result.Metric) figureKey { return figureKey{metric: m.Name, unit: m.Unit} }
