package plot

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Sizes of the drawing, in pixels at scale 1.
const (
	fontSize   = 12
	charWidth  = 6.6 // mean advance of a 12 px sans-serif
	lineHeight = 16
	narrow     = 560 // below this width categories are numbered instead of named
	colours    = 6   // of Style
)

// drawing is a Plot being laid out.
type drawing struct {
	Plot
	b             strings.Builder
	labels        strings.Builder // values beside marks, drawn over everything
	id            string
	width, height float64
	x, y          span
	ydiv          float64 // of the y axis's prefix
	yprefix       string
}

// SVG draws p at the given size. id must be unique among the drawings of one
// page. A plot without a point that can be shown gives the empty string.
func (p Plot) SVG(id string, width, height int) string {
	d := &drawing{Plot: p, id: id, width: float64(width), height: float64(height)}
	if !d.layout() {
		return ""
	}
	zoom := ""
	if p.Zoom {
		zoom = fmt.Sprintf(` data-zoom="" data-x="%g %g %g %g %t" data-y="%g %g %g %g %t" data-xu="%s" data-yu="%s" data-y2="%g"`,
			d.x.min, d.x.max, d.x.from, d.x.to, d.x.log, d.y.min, d.y.max, d.y.from, d.y.to, d.y.log, esc(p.X.Unit), esc(p.Y.Unit), p.Y.Second.Factor)
	}
	d.f(`<svg class="plot" viewBox="0 0 %d %d" role="img" aria-label="%s" xmlns="http://www.w3.org/2000/svg"%s>`, width, height, esc(p.Title), zoom)
	d.legend()
	d.yAxis()
	d.xAxis()
	d.f(`<clipPath id="%s"><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f"/></clipPath>`, esc(id), d.x.from, d.y.to-14, d.x.to-d.x.from, d.y.from-d.y.to+14)
	d.f(`<g clip-path="url(#%s)"><g class="data">`, esc(id))
	for i, s := range p.Series {
		if s.Mark == Bars {
			d.bars(i, s)
		}
	}
	for i, s := range p.Series {
		if s.Mark != Bars {
			d.path(i, s)
		}
	}
	d.b.WriteString(d.labels.String())
	d.f("</g></g></svg>\n")
	return d.b.String()
}

func (d *drawing) f(format string, args ...any) { fmt.Fprintf(&d.b, format, args...) }

func esc(s string) string { return html.EscapeString(strings.ToValidUTF8(s, "\uFFFD")) }

// layout fixes the spans of both axes; false where there is nothing to show.
func (d *drawing) layout() bool {
	xlo, xhi, ok := extent(d.values(func(p Point, yield func(float64) bool) bool { return yield(p.X) }), d.X.Log)
	ylo, yhi, ok2 := extent(d.values(func(p Point, yield func(float64) bool) bool {
		return yield(p.Y) && (p.Hi <= p.Lo || yield(p.Lo) && yield(p.Hi))
	}), d.Y.Log)
	if !ok || !ok2 {
		return false
	}
	if d.X.Most > d.X.Least {
		xlo, xhi = min(xlo, d.X.Least), max(xhi, d.X.Most)
	}
	d.ydiv, d.yprefix = prefix(max(math.Abs(ylo), math.Abs(yhi)), d.Y.Unit)
	switch {
	case d.Y.Log:
		ylo, yhi = ylo/2.5, yhi*1.6
	default:
		ylo, yhi = min(ylo, 0), max(yhi, 0)
		if ylo == yhi {
			yhi = 1
		}
		step := niceStep(yhi-ylo, d.yIntervals())
		yhi = math.Ceil((yhi+(yhi-ylo)*0.04)/step) * step
		if d.Y.Most > d.Y.Least {
			ylo, yhi = d.Y.Least, d.Y.Most
		}
	}
	switch {
	case len(d.X.Categories) > 0:
		xlo, xhi = -0.5, float64(len(d.X.Categories))-0.5
	case d.X.Log:
		xlo, xhi = xlo/1.15, xhi*1.15
	case xlo == xhi:
		xlo, xhi = xlo-0.5, xhi+0.5
	}
	left, right := 0, 0
	for _, t := range d.yTicks(ylo, yhi) {
		left = max(left, len(number(t/d.ydiv)))
		right = max(right, len(number(t/d.ydiv*d.Y.Second.Factor)))
	}
	edge := d.width - 16
	if d.Y.Second.Factor > 0 {
		edge -= float64(right) * charWidth
	}
	bottom := d.height - lineHeight - 8
	if d.X.Label != "" || d.X.Unit != "" {
		bottom -= lineHeight
	}
	if len(d.X.Categories) > 0 && d.width >= narrow {
		bottom -= float64(d.categoryLines()-1) * lineHeight
	}
	top := float64(d.legendLines())*lineHeight + 2*lineHeight + 4
	d.x = span{min: xlo, max: xhi, from: float64(left)*charWidth + 14, to: edge, log: d.X.Log}
	d.y = span{min: ylo, max: yhi, from: bottom, to: top, log: d.Y.Log}
	return true
}

// values iterates over what pick takes of every point.
func (d *drawing) values(pick func(Point, func(float64) bool) bool) func(func(float64) bool) {
	return func(yield func(float64) bool) {
		for _, s := range d.Series {
			for _, p := range s.Points {
				if !pick(p, yield) {
					return
				}
			}
		}
	}
}

func (d *drawing) yTicks(lo, hi float64) []float64 {
	if d.Y.Log {
		return logTicks(lo, hi, d.yIntervals())
	}
	return linearTicks(lo, hi, d.yIntervals())
}

// yIntervals is the greatest number of intervals that the y axis is divided into.
func (d *drawing) yIntervals() int { return max(2, int(d.height/55)) }

func (d *drawing) yAxis() {
	d.f(`<g class="axis ya">`)
	for _, t := range d.yTicks(d.y.min, d.y.max) {
		y := d.y.at(t)
		d.f(`<path class="grid" d="M%.1f %.1fH%.1f"/><text x="%.1f" y="%.1f" class="end">%s</text>`, d.x.from, y, d.x.to, d.x.from-6, y+4, number(t/d.ydiv))
		if f := d.Y.Second.Factor; f > 0 {
			d.f(`<text x="%.1f" y="%.1f">%s</text>`, d.x.to+6, y+4, number(t*f/d.ydiv))
		}
	}
	label := unitLabel(d.Y.Label, d.yprefix, d.Y.Unit)
	if d.Y.Log {
		label = unitLabel("logarithmic", "", label)
	}
	d.f(`</g><text class="unit" x="0" y="%.1f">%s</text>`, d.y.to-lineHeight, esc(label))
	if d.Y.Second.Factor > 0 {
		d.f(`<text class="unit end" x="%.1f" y="%.1f">%s</text>`, d.width, d.y.to-lineHeight, esc(d.yprefix+d.Y.Second.Unit))
	}
}

func (d *drawing) xAxis() {
	d.f(`<path class="base" d="M%.1f %.1fH%.1f"/><g class="axis xa">`, d.x.from, d.y.from, d.x.to)
	y := d.y.from + lineHeight
	switch {
	case len(d.X.Categories) > 0:
		d.categories(y)
	default:
		div, pre := 1.0, ""
		if !d.X.Log {
			div, pre = prefix(d.x.max, d.X.Unit)
		}
		var taken [][2]float64
		for _, t := range d.xTicks() {
			text, x := number(t/div), d.x.at(t)
			half := float64(len(text))*charWidth/2 + 3
			clash := slices.ContainsFunc(taken, func(o [2]float64) bool { return x-half < o[1] && x+half > o[0] })
			if !clash && x >= d.x.from-1 && x <= d.x.to+1 {
				d.f(`<path class="tick" d="M%.1f %.1fv4"/><text x="%.1f" y="%.1f" class="mid">%s</text>`, x, d.y.from, x, y, text)
				taken = append(taken, [2]float64{x - half, x + half})
			}
		}
		d.f(`</g><g><text class="unit mid" x="%.1f" y="%.1f">%s</text>`, (d.x.from+d.x.to)/2, y+lineHeight+2, esc(unitLabel(d.X.Label, pre, d.X.Unit)))
	}
	d.f(`</g>`)
}

// xTicks lists ticks by precedence: where labels clash, the later one is left
// out. The greatest of the preferred ticks comes first.
func (d *drawing) xTicks() []float64 {
	n := max(2, int((d.x.to-d.x.from)/90))
	switch {
	case len(d.X.Ticks) > 0:
		ticks := slices.Sorted(slices.Values(d.X.Ticks))
		last := len(ticks) - 1
		return append([]float64{ticks[last]}, ticks[:last]...)
	case d.X.Log:
		return logTicks(d.x.min, d.x.max, n)
	}
	return linearTicks(d.x.min, d.x.max, n)
}

func (d *drawing) categories(y float64) {
	for i, name := range d.X.Categories {
		x := d.x.at(float64(i))
		lines := d.wrapCategory(name)
		if d.width < narrow {
			lines = []string{strconv.Itoa(i + 1)}
		}
		d.f(`<g><title>%s</title>`, esc(name))
		for j, l := range lines {
			d.f(`<text x="%.1f" y="%.1f" class="mid">%s</text>`, x, y+float64(j)*lineHeight, esc(l))
		}
		d.f(`</g>`)
	}
}

func (d *drawing) categoryLines() int {
	n := 1
	for _, c := range d.X.Categories {
		n = max(n, len(d.wrapCategory(c)))
	}
	return n
}

// wrapCategory breaks a name into at most three lines as wide as its place.
func (d *drawing) wrapCategory(name string) []string {
	room := max(4, int((d.width-90)/float64(len(d.X.Categories))/charWidth)-1)
	lines := []string{""}
	for _, word := range strings.Fields(name) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case len(*last)+1+len(word) <= room:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	if len(lines) > 3 {
		lines = append(lines[:2], lines[2]+" …")
	}
	for i, l := range lines {
		if r := []rune(l); len(r) > room+2 {
			lines[i] = string(r[:room+1]) + "…"
		}
	}
	return lines
}
