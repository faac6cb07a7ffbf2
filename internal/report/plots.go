package report

import (
	"math"
	"strings"

	"github.com/linerate/linerate/internal/report/plot"
	"github.com/linerate/linerate/result"
)

// maxBars is the most rows whose columns can be told apart.
const maxBars = 24

// plots draws figures of the trials: columns for the steps of a ladder, curves
// over a logarithmic axis for a sweep.
func (m matrix) plots(figures []figureKey) []plot.Plot {
	if !m.numeric && len(m.rows) > maxBars {
		return nil
	}
	return m.merged(figures)
}

// plot draws figure k of every row and variant, goodput under its line limit.
func (m matrix) plot(k figureKey) plot.Plot {
	name := strings.TrimSpace(heading(k.metric) + " " + k.labels)
	p := plot.Plot{Title: name, Y: plot.Axis{Unit: k.unit}}
	if k.unit == "bit/s" {
		p.Y = plot.BitsAndBytes("")
	}
	mark := plot.Bars
	if m.numeric {
		mark = plot.Line
		p.X = plot.Axis{Label: strings.ReplaceAll(m.head, "_", " ")}
		if m.head == "size" {
			p.X.Label = "frame size in bytes, FCS included"
		}
		m.sizeAxis(&p.X)
	} else {
		for _, r := range m.rows {
			p.X.Categories = append(p.X.Categories, r.name)
		}
	}
	for _, v := range m.variants {
		s := m.series(k, v)
		s.Mark = mark
		if s.Name == "" {
			s.Name = name
		}
		if len(s.Points) > 0 {
			p.Series = append(p.Series, s)
		}
	}
	p.Y.Log = m.wide(p.Series)
	if limit, ok := limitOf(k.metric); ok {
		p.Series = append(p.Series, m.limits(limit)...)
	}
	if m.head == loadParam {
		lossAxes(&p)
	}
	return p
}

// sizeAxis makes an axis logarithmic where the rows span more than a decade,
// with ticks where something was measured if these are few.
func (m matrix) sizeAxis(a *plot.Axis) {
	lo, hi := math.Inf(1), 0.0
	for _, r := range m.rows {
		lo, hi = min(lo, r.x), max(hi, r.x)
	}
	a.Log = lo > 0 && hi > 10*lo
	if a.Log && len(m.rows) <= 16 {
		for _, r := range m.rows {
			a.Ticks = append(a.Ticks, r.x)
		}
	}
}

// wide reports whether steps differ so much that a linear axis would hide the
// lower ones.
func (m matrix) wide(ss []plot.Series) bool {
	lo, hi := math.Inf(1), 0.0
	for _, s := range ss {
		for _, p := range s.Points {
			if p.Y <= 0 {
				return false
			}
			lo, hi = min(lo, p.Y), max(hi, p.Y)
		}
	}
	return hi > 50*lo
}

func (m matrix) series(k figureKey, variant string) plot.Series {
	out := plot.Series{Name: variant}
	for i, r := range m.rows {
		s := r.summary(variant, k)
		if s.N == 0 {
			continue
		}
		p := plot.Point{X: float64(i), Y: s.Median, Title: strings.TrimSpace(r.name+" "+variant) + ": " + figure(result.Value{Metric: k.metric, Unit: k.unit, V: s.Median})}
		if m.numeric {
			p.X = r.x
		}
		if s.N > 1 {
			p.Lo, p.Hi = s.Lo, s.Hi
			p.Title += ", median of " + newScale("", nil).show(float64(s.N))
		}
		out.Points = append(out.Points, p)
	}
	return out
}

// limits draws a limit, once where it is the same for every variant.
func (m matrix) limits(limit result.Metric) []plot.Series {
	var out []plot.Series
	for _, v := range m.variants {
		s := m.series(keyOf(limit), v)
		if len(s.Points) == 0 || len(out) > 0 && sameShape(out[0], s) {
			continue
		}
		s.Mark, s.Name = plot.Limit, strings.TrimSpace(heading(limit.Name)+" "+v)
		if m.numeric {
			s.Mark = plot.LimitLine
		}
		for i := range s.Points {
			s.Points[i].Lo, s.Points[i].Hi = 0, 0
		}
		out = append(out, s)
	}
	if len(out) == 1 {
		out[0].Name = heading(limit.Name)
	}
	return out
}

func sameShape(a, b plot.Series) bool {
	if len(a.Points) != len(b.Points) {
		return false
	}
	for i := range a.Points {
		if a.Points[i].X != b.Points[i].X || a.Points[i].Y != b.Points[i].Y {
			return false
		}
	}
	return true
}

// readingPlots draws the views over time.
func readingPlots(r *result.Result) []plot.Plot {
	var out []plot.Plot
	for _, v := range views() {
		p := plot.Plot{Title: v.title, X: plot.Axis{Label: "time", Unit: "s"}, Y: plot.Axis{Unit: v.unit}, Zoom: true}
		if v.unit == "bit/s" {
			p.Y = plot.BitsAndBytes("")
		}
		cs := v.curves(r.Readings)
		for _, c := range cs[:min(maxCurves, len(cs))] {
			s := plot.Series{Name: c.name}
			for i, at := range c.at {
				s.Points = append(s.Points, plot.Point{X: at.Seconds(), Y: c.v[i], Title: strings.TrimSpace(seconds(at) + " s " + c.name + ": " + figure(result.Value{Unit: v.unit, V: c.v[i]}))})
			}
			p.Series = append(p.Series, s)
		}
		if len(p.Series) == 0 {
			continue
		}
		if limit, ok := result.Get(r.Totals, result.LineLimit); ok && (v.metric.Name == result.Bytes.Name || v.metric.Name == result.FTPBytes.Name) {
			at := p.Series[0].Points
			p.Series = append(p.Series, plot.Series{Name: "line limit", Mark: plot.LimitLine, Points: []plot.Point{{X: at[0].X, Y: limit}, {X: at[len(at)-1].X, Y: limit}}})
		}
		out = append(out, p)
	}
	return out
}
