// Package plot draws charts as SVG that stands alone: no script, no font and
// no style of elsewhere is needed to read one. Colours come from CSS custom
// properties (see Style), so that a page may be light or dark.
package plot

// Mark is how the points of a Series are drawn.
type Mark int

// The marks.
const (
	Line      Mark = iota // points joined by straight lines
	Step                  // treads: each point holds until the next
	Dots                  // points alone
	Bars                  // columns from the axis, those of one x side by side
	Limit                 // as Step, dashed: a bound that the others are held against
	LimitLine             // as Line, dashed
)

// Series is one set of points in one colour.
type Series struct {
	Name   string
	Mark   Mark
	Points []Point
}

// Point is a value and, where Hi > Lo, the interval it is known to lie in.
type Point struct {
	X, Y   float64
	Lo, Hi float64
	Title  string // shown on hover
}

// Axis describes one direction of a plot.
type Axis struct {
	Label      string
	Unit       string    // base unit; the axis picks the prefix (k, M, G ...)
	Log        bool      // logarithmic; points at or below zero are left out
	Categories []string  // names of x = 0, 1, 2 ...; makes the axis discrete
	Ticks      []float64 // preferred ticks of a logarithmic axis, such as the sizes measured
	Least      float64   // with Most: what a linear axis shows at least, such as 0 to 100 %
	Most       float64
	Second     Scale // the same values in another unit, at the right edge (y only)
}

// Scale converts an axis to a second unit.
type Scale struct {
	Unit   string
	Factor float64
}

// Plot is one chart.
type Plot struct {
	Title  string
	X, Y   Axis
	Series []Series
	Zoom   bool // let the script of the page zoom into it; see Script
}

// BitsAndBytes is the y axis for rates in bit/s, with MB/s at the right edge.
func BitsAndBytes(label string) Axis {
	return Axis{Label: label, Unit: "bit/s", Second: Scale{Unit: "B/s", Factor: 1.0 / 8}}
}
