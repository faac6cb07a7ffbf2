package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/linerate/linerate/result"
)

// grid lays figures of the matrix out: goodput of every variant in bits and
// bytes, its share of the line limit, what bounds each row, then the others.
func (m matrix) grid(figures []figureKey, findings []result.Finding) grid {
	g := grid{names: column{head: printable(strings.ReplaceAll(m.head, "_", " "))}}
	for i, r := range m.rows {
		name := printable(r.name)
		if !m.numeric && len(m.rows) > 1 {
			name = fmt.Sprintf("%d %s", i+1, name)
		}
		g.names.cells = append(g.names.cells, name)
	}
	for _, k := range figures {
		if m.isLimit(k) && !(k.metric == result.FrameLimit.Name && m.has(result.ThroughputRate)) {
			continue // shown as a share of it, or the row says it
		}
		if k.unit == "bit/s" {
			g.cols = append(g.cols, m.rateColumns(k)...)
		} else {
			g.cols = append(g.cols, m.columns(k)...)
		}
		if k.metric == result.Goodput.Name {
			g.cols = append(g.cols, m.boundColumn(findings)...)
		}
	}
	return g
}

// medians of figure k, by variant and row; NaN where there is none.
func (m matrix) medians(k figureKey) (by map[string][]float64, all []float64) {
	by = map[string][]float64{}
	for _, v := range m.variants {
		for _, r := range m.rows {
			s := r.summary(v, k)
			if s.N == 0 {
				s.Median = math.NaN()
			} else {
				all = append(all, s.Median)
			}
			by[v] = append(by[v], s.Median)
		}
	}
	return by, all
}

func (m matrix) rateColumns(k figureKey) []column {
	by, all := m.medians(k)
	var cols []column
	for _, v := range m.variants {
		group := strings.Join(strings.Fields(printable(v+" "+k.labels)), " ")
		if k.metric != result.Goodput.Name || group == "" {
			group = strings.TrimSpace(heading(k.metric) + " " + group)
		}
		for _, s := range rateScales(all) {
			cols = append(cols, column{group: group, head: s.unit, cells: s.cells(by[v])})
		}
		if k.metric == result.Goodput.Name && k.labels == "" && m.has(result.LineLimit) {
			cols = append(cols, column{group: group, head: "of line", cells: m.shares(v)})
		}
	}
	return cols
}

func (s scale) cells(vs []float64) []string {
	var out []string
	for _, v := range vs {
		out = append(out, s.show(v))
	}
	return out
}

// shares are goodput over line limit, of each row.
func (m matrix) shares(variant string) []string {
	var out []string
	for _, r := range m.rows {
		got, limit := r.summary(variant, keyOf(result.Goodput)), r.summary(variant, keyOf(result.LineLimit))
		cell := "-"
		if got.N > 0 && limit.N > 0 && limit.Median > 0 {
			cell = fmt.Sprintf("%.1f %%", 100*got.Median/limit.Median)
		}
		out = append(out, cell)
	}
	return out
}

func (m matrix) columns(k figureKey) []column {
	by, all := m.medians(k)
	s := newScale(k.unit, all)
	head := printable(strings.TrimSpace(heading(k.metric) + " " + k.labels))
	if s.unit != "" && s.unit != k.unit || k.unit == "B" {
		head += " " + s.unit
	}
	if len(m.variants) == 1 {
		return []column{{head: head, cells: s.cells(by[m.variants[0]])}}
	}
	var cols []column
	for _, v := range m.variants {
		cols = append(cols, column{group: head, head: printable(v), cells: s.cells(by[v])})
	}
	return cols
}

// boundColumn names the rules that limit each row: one where it is the same for
// every variant, else one a variant ("tcp.window-limited / cpu.one-core").
func (m matrix) boundColumn(findings []result.Finding) []column {
	c := column{head: "bound by", left: true}
	any := false
	for _, r := range m.rows {
		var all []string
		for _, v := range m.variants {
			rules := bounds(findings, r.trial, v)
			any = any || rules != ""
			if rules == "" {
				rules = "-"
			}
			all = append(all, rules)
		}
		if len(slices.Compact(slices.Clone(all))) == 1 {
			all = all[:1]
		}
		c.cells = append(c.cells, printable(strings.Join(all, " / ")))
	}
	if !any {
		return nil
	}
	return []column{c}
}

// bounds names the rules that limit a trial in one direction. A finding tells
// its direction by the label of its evidence; without one it speaks of all.
func bounds(findings []result.Finding, trial, direction string) string {
	var rules []string
	for _, f := range findings {
		if f.Trial != trial || trial == "" || f.Verdict != result.Limits || slices.Contains(rules, f.Rule) {
			continue
		}
		elsewhere := slices.ContainsFunc(f.Evidence, func(v result.Value) bool {
			d, ok := v.Labels["direction"]
			return ok && d != direction
		})
		if !elsewhere {
			rules = append(rules, f.Rule)
		}
	}
	return strings.Join(rules, ", ")
}

// spread returns the greatest distance of a repeat from its median, as a share
// of it, and where that was.
func (m matrix) spread(metric result.Metric) (worst float64, at string) {
	for _, r := range m.rows {
		for _, v := range m.variants {
			s := r.summary(v, keyOf(metric))
			if s.N < 2 || s.Median <= 0 {
				continue
			}
			if d := max(s.Max-s.Median, s.Median-s.Min) / s.Median; d >= worst {
				worst, at = d, strings.TrimSpace(r.name+" "+v)
			}
		}
	}
	return worst, at
}
