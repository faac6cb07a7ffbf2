// Package report renders a Result. Every renderer is a pure function of it.
package report

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/linerate/linerate/result"
)

// Text writes a summary for a terminal of 100 columns: what was done, what it
// came to, what bounds it, what was changed and what could not be read.
func Text(w io.Writer, r *result.Result) error {
	t := &text{Writer: bufio.NewWriter(w)}
	t.opening(r)
	t.totals(r)
	t.trials(r)
	t.readings(r)
	t.findings(r)
	t.changes(r)
	t.gaps(r)
	return t.Flush()
}

// text is a report being written; bufio keeps the first error until Flush.
type text struct{ *bufio.Writer }

func (t *text) line(format string, args ...any) {
	_, _ = fmt.Fprintf(t, strings.TrimRight(format, " ")+"\n", args...)
}

// section opens a part with its title.
func (t *text) section(title string) { t.line("\n%s", title) }

// item writes text behind a label, wrapped under its own beginning.
func (t *text) item(indent int, label, body string) {
	const labels = 10
	start := indent + labels
	for i, l := range wrap(printable(body), width-start) {
		if i > 0 {
			label = ""
		}
		t.line("%s%-*s  %s", strings.Repeat(" ", indent), labels-2, label, l)
	}
}

func (t *text) opening(r *result.Result) {
	t.line("%s", strings.Join(wrap(printable(headline(r)), width), "\n"))
	for _, e := range r.Ends {
		var facts []string
		for _, k := range sortedKeys(e.Facts) {
			facts = append(facts, k+" "+e.Facts[k])
		}
		t.item(2, printable(e.Role), strings.Join(append([]string{e.Host}, facts...), " · "))
	}
	params := maps.Clone(r.Workload.Params)
	if c, ok := params["compliance"]; ok {
		t.item(2, "RFC 2544", strings.TrimSuffix(c+": "+params["deviations"], ": "))
		delete(params, "compliance")
		delete(params, "deviations")
	}
	if len(params) > 0 {
		t.item(2, "with", labels(params))
	}
	if r.Error != "" {
		t.item(2, "error", r.Error)
	}
}

// headline says in one line what a Result is: "ladder, measured 2026-12-01
// 03:00:00 UTC, 48.2 s, completed (20261201T030000Z-9f86d081)".
func headline(r *result.Result) string {
	parts := []string{r.Workload.Kind, string(r.Origin)}
	if !r.Start.IsZero() {
		parts[1] += " " + r.Start.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	if r.Duration > 0 {
		parts = append(parts, r.Duration.Round(100*time.Millisecond).String())
	}
	parts = append(parts, string(r.Ending), r.ID)
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

func (t *text) totals(r *result.Result) {
	if len(r.Totals) == 0 {
		return
	}
	t.section("Totals")
	g := grid{}
	value := column{left: true}
	telling, rest := rankedTotals(r.Totals)
	for _, v := range telling {
		g.names.cells = append(g.names.cells, printable(qualified(v)))
		value.cells = append(value.cells, printable(figure(v)))
	}
	g.cols = []column{value}
	t.grid(g)
	if len(rest) > 0 {
		t.line("  and %d more in HTML, CSV and JSON", len(rest))
	}
}

// rankedTotals splits totals into the most telling, in order, and the rest.
func rankedTotals(totals []result.Value) (telling, rest []result.Value) {
	const most = 12
	rank := ranks()
	all := slices.Clone(totals)
	slices.SortStableFunc(all, func(a, b result.Value) int { return rank[a.Metric] - rank[b.Metric] })
	n := min(most, len(all))
	return all[:n], all[n:]
}

// grid writes g without an empty head.
func (t *text) grid(g grid) {
	var b strings.Builder
	_ = g.write(&b) // a Builder does not fail
	s := b.String()
	if first, rest, ok := strings.Cut(s, "\n"); ok && strings.TrimSpace(first) == "" {
		s = rest
	}
	_, _ = t.WriteString(s)
}

// trials shows medians: goodput both ways first, then every other figure.
func (t *text) trials(r *result.Result) {
	for _, p := range parts(r.Trials) {
		t.part(p, r)
	}
}

func (t *text) part(m part, r *result.Result) {
	title := m.title
	if m.repeats > 1 {
		title += fmt.Sprintf(", medians of %d", m.repeats)
	}
	t.section(title)
	telling, rest := m.figures()
	t.grid(m.grid(telling, r.Findings))
	if len(rest) > 0 {
		t.line("  and %s more in HTML, CSV and JSON", count(len(rest), "figure"))
	}
	if worst, at := m.spread(result.Goodput); m.repeats > 1 && at != "" {
		t.line("  goodput of repeats lies within %.1f %% of the median (widest: %s)", 100*worst, printable(at))
	}
	for _, tr := range m.trials() {
		if !tr.Pass && tr.Note != "" && !m.noted(tr.Note) {
			t.item(2, "failed", tr.Name+": "+tr.Note)
		}
	}
	for _, row := range m.rows {
		if m.title != allTrials && row.note != "" {
			t.item(2, printable(row.name), row.note)
		}
	}
}

// noted reports whether a note names a step rather than a failure.
func (m matrix) noted(note string) bool {
	return slices.ContainsFunc(m.rows, func(r mrow) bool { return r.note == note })
}

// readings shows each curve as its range and its shape.
func (t *text) readings(r *result.Result) {
	const shown = 8
	g := grid{names: column{}}
	cols := []column{{head: "min"}, {head: "median"}, {head: "max"}, {left: true}, {head: "over time", left: true}}
	left := 0
	for _, v := range views() {
		for i, c := range v.curves(r.Readings) {
			if i >= shown {
				left++
				continue
			}
			s, sc := result.Summarize(c.v), newScale(v.unit, c.v)
			if v.unit == "bit/s" {
				sc = rateScales(c.v)[0]
			}
			g.names.cells = append(g.names.cells, printable(strings.TrimSpace(v.title+" "+c.name)))
			for j, cell := range []string{sc.show(s.Min), sc.show(s.Median), sc.show(s.Max), sc.unit, sparkline(c.v, 24)} {
				cols[j].cells = append(cols[j].cells, cell)
			}
		}
	}
	if len(g.names.cells) == 0 {
		return
	}
	g.cols = cols
	t.section(fmt.Sprintf("Readings, %d", len(r.Readings)))
	t.grid(g)
	if left > 0 {
		t.line("  and %d more in JSON and CSV", left)
	}
}

// sparkline draws vs in n columns from zero to their greatest.
func sparkline(vs []float64, n int) string {
	const bars = "▁▂▃▄▅▆▇█"
	top := slices.Max(vs)
	n = min(n, len(vs))
	var b strings.Builder
	for i := range n {
		part := vs[i*len(vs)/n : max((i+1)*len(vs)/n, i*len(vs)/n+1)]
		level := 0
		if top > 0 {
			level = int(7.999 * max(0, result.Summarize(part).Median) / top)
		}
		b.WriteRune([]rune(bars)[min(level, 7)])
	}
	return b.String()
}

func (t *text) changes(r *result.Result) {
	if len(r.Changes) == 0 {
		return
	}
	t.section("Changed")
	for _, c := range r.Changes {
		back := ""
		if c.Back {
			back = ", put back since"
		}
		t.item(2, printable(c.End), fmt.Sprintf("%s: %s -> %s%s", c.Lever, c.Before, c.After, back))
	}
}

func (t *text) gaps(r *result.Result) {
	if len(r.Gaps) == 0 {
		return
	}
	t.section("Not read")
	for _, g := range r.Gaps {
		for i, l := range wrap(printable(g.Source+": "+g.Reason), width-4) {
			t.line("%s%s", strings.Repeat(" ", 2+2*min(i, 1)), l)
		}
	}
}
