package plot

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// most is the number of points that get a hover title; a series of more is
// read by its shape.
const most = 300

// legendAt calls visit with the place of each legend entry and returns the
// number of lines they take.
func (d *drawing) legendAt(visit func(i int, x, y float64)) int {
	x, lines := 0.0, 1
	for i, s := range d.Series {
		w := float64(utf8.RuneCountInString(s.Name))*charWidth + 40
		if x > 0 && x+w > d.width {
			x, lines = 0, lines+1
		}
		visit(i, x, float64(lines)*lineHeight-4)
		x += w
	}
	return lines
}

func (d *drawing) legendLines() int {
	if len(d.Series) < 2 {
		return 0
	}
	return d.legendAt(func(int, float64, float64) {})
}

func (d *drawing) legend() {
	if d.legendLines() == 0 {
		return
	}
	d.legendAt(func(i int, x, y float64) {
		s := d.Series[i]
		switch s.Mark {
		case Limit, LimitLine:
			d.f(`<path class="limit" d="M%.1f %.1fh18"/>`, x, y-4)
		case Bars, Dots:
			d.f(`<rect class="b%d" x="%.1f" y="%.1f" width="11" height="11" rx="2"/>`, i%colours, x+4, y-9)
		default:
			d.f(`<path class="l l%d" d="M%.1f %.1fh18"/>`, i%colours, x, y-4)
		}
		d.f(`<text x="%.1f" y="%.1f">%s</text>`, x+23, y, esc(s.Name))
	})
}

// bars draws series i beside the other series of bars.
func (d *drawing) bars(i int, s Series) {
	n, k := 0, 0
	for j, o := range d.Series {
		if o.Mark == Bars {
			if j < i {
				k++
			}
			n++
		}
	}
	slots := max(len(d.X.Categories), len(s.Points))
	w := min((d.x.to-d.x.from)/float64(slots)*0.76/float64(n), 64)
	for _, p := range s.Points {
		if !d.y.holds(p.Y) || !d.x.holds(p.X) {
			continue
		}
		x := d.x.at(p.X) + (float64(k)-float64(n)/2)*w
		top, base := d.y.at(p.Y), d.y.from
		if !d.Y.Log {
			base = d.y.at(0)
		}
		d.f(`<g><title>%s</title><rect class="b%d" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="1.5"/>`, esc(p.Title), i%colours, x+1, min(top, base), w-2, math.Abs(base-top))
		labelY := top
		if p.Hi > p.Lo && d.y.holds(p.Lo) {
			hi := d.y.at(p.Hi)
			d.f(`<path class="err" d="M%.1f %.1fV%.1f"/>`, x+w/2, d.y.at(p.Lo), hi)
			labelY = min(top, hi)
		}
		if text := short(p.Y / d.ydiv); float64(len(text))*charWidth <= w+3 {
			fmt.Fprintf(&d.labels, `<text class="mid val" x="%.1f" y="%.1f">%s</text>`, x+w/2, labelY-4, text)
		}
		d.f(`</g>`)
	}
}

// short formats a value beside its mark, with three digits or more.
func short(v float64) string {
	digits := 0
	switch a := math.Abs(v); {
	case a == 0 || a >= 100:
	case a >= 10:
		digits = 1
	case a >= 0.995:
		digits = 2
	default:
		digits = min(4, 1-int(math.Floor(math.Log10(a))))
	}
	f, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', digits, 64), 64)
	if err != nil {
		return ""
	}
	return number(f)
}

// path draws a series of lines, treads or dots.
func (d *drawing) path(i int, s Series) {
	class := fmt.Sprintf("l l%d", i%colours)
	switch s.Mark {
	case Limit, LimitLine:
		class = "limit"
	case Dots:
		class = fmt.Sprintf("l dots l%d", i%colours)
	}
	d.f(`<path class="%s" d="`, class)
	pen := false
	for _, p := range d.thin(s) {
		if !d.y.holds(p.Y) || !d.x.holds(p.X) {
			pen = false
			continue
		}
		x, y := d.x.at(p.X), d.y.at(p.Y)
		half := 0.0
		if (s.Mark == Step || s.Mark == Limit) && len(d.X.Categories) > 0 {
			half = (d.x.at(1) - d.x.at(0)) / 2
		}
		switch {
		case s.Mark == Dots:
			d.f("M%.1f %.1fh0", x, y)
		case half > 0 && pen:
			d.f("V%.1fH%.1f", y, x+half)
		case half > 0:
			d.f("M%.1f %.1fH%.1f", x-half, y, x+half)
		case !pen:
			d.f("M%.1f %.1fh0", x, y) // h0: a lone point shows as a dot
		case s.Mark == Step:
			d.f("H%.1fV%.1f", x, y)
		default:
			d.f("L%.1f %.1f", x, y)
		}
		pen = true
	}
	d.f(`"/>`)
	d.intervals(i, s)
	d.hover(i, s)
}

// intervals draws the whiskers of a series that has them.
func (d *drawing) intervals(i int, s Series) {
	for _, p := range s.Points {
		if p.Hi > p.Lo && d.y.holds(p.Lo) && d.x.holds(p.X) {
			d.f(`<path class="l%d err" d="M%.1f %.1fV%.1f"/>`, i%colours, d.x.at(p.X), d.y.at(p.Lo), d.y.at(p.Hi))
		}
	}
}

// hover lays a target with a title over each point. Targets are strokes of no
// length: unlike circles they stay round when the page's script stretches them.
func (d *drawing) hover(i int, s Series) {
	if len(s.Points) > most {
		return
	}
	seen := s.Mark == Line && len(s.Points) <= 60
	for _, p := range s.Points {
		if p.Title == "" || !d.y.holds(p.Y) || !d.x.holds(p.X) {
			continue
		}
		x, y := d.x.at(p.X), d.y.at(p.Y)
		d.f(`<g><title>%s</title><path class="l hit" d="M%.1f %.1fh0"/>`, esc(p.Title), x, y)
		if seen {
			d.f(`<path class="l dot l%d" d="M%.1f %.1fh0"/>`, i%colours, x, y)
		}
		d.f(`</g>`)
	}
}

// thin leaves out points that would fall on the same place: per pixel column
// only the first, the lowest, the highest and the last of a line are kept. A
// plot to zoom into keeps eight times as many.
func (d *drawing) thin(s Series) []Point {
	grain := 1.0
	if d.Zoom {
		grain = 8
	}
	if float64(len(s.Points)) <= 4*grain*d.width {
		return s.Points
	}
	var out []Point
	for i := 0; i < len(s.Points); {
		column := math.Floor(d.x.at(s.Points[i].X) * grain)
		lo, hi, j := i, i, i
		for ; j < len(s.Points) && math.Floor(d.x.at(s.Points[j].X)*grain) == column; j++ {
			if s.Points[j].Y < s.Points[lo].Y {
				lo = j
			}
			if s.Points[j].Y > s.Points[hi].Y {
				hi = j
			}
		}
		last := -1
		for _, k := range []int{i, min(lo, hi), max(lo, hi), j - 1} {
			if k > last {
				out, last = append(out, s.Points[k]), k
			}
		}
		i = max(j, i+1)
	}
	return out
}
