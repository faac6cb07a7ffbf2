package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// draw renders p and checks that the drawing is well-formed XML.
func draw(t *testing.T, p Plot, width, height int) string {
	t.Helper()
	svg := p.SVG("id", width, height)
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
	}
	for _, bad := range []string{"NaN", "Inf", "%!"} {
		if strings.Contains(svg, bad) {
			t.Fatalf("%s in %s", bad, svg)
		}
	}
	return svg
}

func line(ys ...float64) Series {
	s := Series{Name: "s"}
	for i, y := range ys {
		s.Points = append(s.Points, Point{X: float64(i), Y: y, Title: "t"})
	}
	return s
}

func TestLinearTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		n      int
		want   []float64
	}{
		{0, 941, 5, []float64{0, 200, 400, 600, 800}},
		{0, 1, 4, []float64{0, 0.5, 1}},
		{-3, 3, 6, []float64{-3, -2, -1, 0, 1, 2, 3}},
		{5, 5, 4, []float64{5}},
	} {
		got := linearTicks(c.lo, c.hi, c.n)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%v to %v in %d: %v, want %v", c.lo, c.hi, c.n, got, c.want)
		}
		if len(got) > c.n+1 {
			t.Errorf("%v to %v: more than %d steps", c.lo, c.hi, c.n)
		}
	}
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   []float64
	}{
		{1, 1e6, []float64{1, 10, 100, 1e3, 1e4, 1e5, 1e6}},
		{60, 1600, []float64{100, 200, 500, 1000}},
		{1, 1e12, []float64{1, 100, 1e4, 1e6, 1e8, 1e10, 1e12}},
	} {
		got := logTicks(c.lo, c.hi, 9)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-6*b }) {
			t.Errorf("%v to %v: %v, want %v", c.lo, c.hi, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", math.Copysign(0, -1): "0", 1500: "1,500", 1234567.5: "1,234,567.5", -2000: "-2,000", 0.125: "0.125", 0.1 + 0.2: "0.3"} {
		if got := number(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

func TestPrefix(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{{941e6, "bit/s", "M"}, {1e9, "bit/s", "M"}, {52e9, "bit/s", "G"}, {1514, "B", ""}, {65536, "B", "k"}, {0.0006, "s", "µ"}, {3e-9, "s/B", "n"}, {30, "s", ""}, {3000, "1", ""}, {0, "bit/s", ""}} {
		if _, got := prefix(c.v, c.unit); got != c.want {
			t.Errorf("%v %s: %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

// TestEveryMark draws each mark on each kind of axis, with the values that
// tend to break scales.
func TestEveryMark(t *testing.T) {
	ys := []float64{0, 5, math.NaN(), math.Inf(1), -2, 1e12}
	for mark := Line; mark <= LimitLine; mark++ {
		for _, x := range []Axis{{Label: "time", Unit: "s"}, {Log: true, Ticks: []float64{1, 2, 4}}, {Categories: []string{"a", "b <c>", "d", "e", "f", "a name of very many words to wrap"}}} {
			for _, y := range []Axis{BitsAndBytes(""), {Log: true}} {
				s := line(ys...)
				s.Mark = mark
				p := Plot{Title: `<"&>`, X: x, Y: y, Series: []Series{s, s}, Zoom: len(x.Categories) == 0}
				for _, width := range []int{960, 400} {
					if svg := draw(t, p, width, 300); !strings.Contains(svg, "<svg") {
						t.Errorf("mark %d on %+v gives nothing", mark, x)
					}
				}
			}
		}
	}
}

func TestNothingToDraw(t *testing.T) {
	for _, p := range []Plot{
		{}, {Series: []Series{{Name: "empty"}}}, {Series: []Series{line(math.NaN())}}, {Y: Axis{Log: true}, Series: []Series{line(0, -1)}},
	} {
		if svg := p.SVG("id", 400, 300); svg != "" {
			t.Errorf("%+v: %s", p, svg)
		}
	}
	for _, p := range []Plot{{Series: []Series{line(5)}}, {Series: []Series{line(0, 0)}}, {X: Axis{Log: true}, Series: []Series{{Points: []Point{{X: 64, Y: 1}}}}}} {
		if svg := draw(t, p, 400, 300); svg == "" {
			t.Errorf("%+v: nothing", p)
		}
	}
}

// TestPlaces reads back where points are drawn.
func TestPlaces(t *testing.T) {
	s := span{min: 0, max: 10, from: 100, to: 200}
	if got := s.at(2.5); got != 125 {
		t.Errorf("linear: %v, want 125", got)
	}
	s = span{min: 1, max: 100, from: 200, to: 0, log: true}
	if got := s.at(10); math.Abs(got-100) > 1e-9 {
		t.Errorf("logarithmic: %v, want 100", got)
	}
}

// TestThin: a long series loses no extreme and stays small.
func TestThin(t *testing.T) {
	s := Series{Name: "long"}
	for i := range 1_000_000 {
		s.Points = append(s.Points, Point{X: float64(i), Y: math.Sin(float64(i))})
	}
	s.Points[123_456].Y, s.Points[777_777].Y = 100, -100
	d := &drawing{Plot: Plot{Series: []Series{s}}, width: 960, height: 300}
	if !d.layout() {
		t.Fatal("no layout")
	}
	got := d.thin(s)
	if len(got) > 4*960+8 {
		t.Errorf("%d points kept", len(got))
	}
	has := func(y float64) bool { return slices.ContainsFunc(got, func(p Point) bool { return p.Y == y }) }
	if !has(100) || !has(-100) || got[0] != s.Points[0] || got[len(got)-1] != s.Points[len(s.Points)-1] {
		t.Error("an extreme or an end is lost")
	}
	if !slices.IsSortedFunc(got, func(a, b Point) int { return int(a.X - b.X) }) {
		t.Error("points are out of order")
	}
}

func TestNarrowNumbersCategories(t *testing.T) {
	p := Plot{X: Axis{Categories: []string{"as shipped", "no copy"}}, Series: []Series{{Mark: Bars, Points: []Point{{X: 0, Y: 1}, {X: 1, Y: 2}}}}}
	if svg := draw(t, p, 960, 300); !strings.Contains(svg, ">as shipped</text>") {
		t.Error("the wide drawing does not name its categories")
	}
	if svg := draw(t, p, 400, 300); !strings.Contains(svg, ">1</text>") || !strings.Contains(svg, "<title>as shipped</title>") {
		t.Error("the narrow drawing does not number its categories")
	}
}
