package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/linerate/linerate/result"
)

// Text writes the comparison for a terminal: what differs in the set-up, then
// for each trial the median and interval of every figure in each set, the
// ratio to the first set and what it tells.
func (c Comparison) Text(w io.Writer) error {
	t := &text{Writer: bufio.NewWriter(w)}
	for i, s := range c.Sets {
		label := "with"
		if i == 0 {
			label = "compared"
		}
		t.item(0, label, fmt.Sprintf("%c: %s (%s)", 'A'+i, s.Name, count(len(s.IDs), "result")))
	}
	if len(c.Setup) > 0 {
		t.section("Set up differently")
		for _, u := range c.Setup {
			t.setup(u)
		}
	}
	for from := 0; from < len(c.Rows); {
		to := from + 1
		for to < len(c.Rows) && c.Rows[to].place() == c.Rows[from].place() {
			to++
		}
		t.section(printable(c.Rows[from].place()))
		t.grid(c.grid(c.Rows[from:to]))
		from = to
	}
	t.line("\nAn interval holds the true median with 95 %% confidence from 6 runs on; below, it is least to greatest.")
	return t.Flush()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// setup shows the values of every set: "link.mtu: 1500 | 9000".
func (t *text) setup(u Unlike) {
	var vs []string
	for _, v := range u.Values {
		if v == "" {
			v = "-"
		}
		vs = append(vs, v)
	}
	for i, l := range wrap(printable(u.What+": "+strings.Join(vs, " | ")), width-4) {
		t.line("%s%s", strings.Repeat(" ", 2+2*min(i, 1)), l)
	}
}

// place names the trial of a row.
func (r DiffRow) place() string {
	parts := []string{}
	if r.Trial != "" {
		parts = append(parts, r.Trial)
	}
	for _, k := range sortedKeys(r.Params) {
		switch {
		case k == stepParam && r.Trial != "": // the name says it
		case k == "direction":
			parts = append(parts, r.Params[k])
		default:
			parts = append(parts, k+"="+r.Params[k])
		}
	}
	if len(parts) == 0 {
		return "Totals"
	}
	return strings.Join(parts, ", ")
}

// grid lays out rows of one trial; a rate takes a line for bits and one for
// bytes.
func (c Comparison) grid(rows []DiffRow) grid {
	g := grid{}
	unit := column{left: true}
	sides := make([][4]column, len(c.Sets))
	for i := range sides {
		name := string(rune('A' + i))
		sides[i] = [4]column{{group: name, head: "median"}, {group: name, head: "interval"}, {group: name, head: "ratio"}, {group: name, left: true}}
	}
	for _, r := range rows {
		name := printable(qualified(result.Value{Metric: r.Metric, Labels: r.Labels}))
		for _, s := range r.scales() {
			g.names.cells = append(g.names.cells, name)
			unit.cells = append(unit.cells, s.unit)
			for i, x := range r.Sides {
				cells := x.cells(s)
				if name == "" { // the second line says nothing new of these
					cells[2], cells[3] = "", ""
				}
				for j := range cells {
					sides[i][j].cells = append(sides[i][j].cells, cells[j])
				}
			}
			name = ""
		}
	}
	g.cols = []column{unit}
	for i, s := range sides {
		if i == 0 {
			g.cols = append(g.cols, s[:2]...)
		} else {
			g.cols = append(g.cols, s[:]...)
		}
	}
	return g
}

// scales are the units to show a row in.
func (r DiffRow) scales() []scale {
	var vs []float64
	for _, s := range r.Sides {
		if s.N > 0 {
			vs = append(vs, s.Median)
		}
	}
	if r.Unit == "bit/s" {
		both := rateScales(vs)
		return both[:]
	}
	return []scale{newScale(r.Unit, vs)}
}

// cells shows median, interval, ratio and verdict of one side.
func (x Side) cells(s scale) [4]string {
	if x.N == 0 {
		return [4]string{"-", "", "", x.Verdict}
	}
	cells := [4]string{s.show(x.Median), "", "", x.Verdict}
	if x.N > 1 {
		cells[1] = s.show(x.Lo) + "-" + s.show(x.Hi)
	}
	if x.Ratio != 0 {
		cells[2] = fmt.Sprintf("%.3f", x.Ratio)
	}
	return cells
}
