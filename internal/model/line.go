package model

// Line is what a message costs: seconds as a + b bytes + c segments. A sweep of
// one MTU leaves c at 0, for it can't be told from b.
type Line struct {
	A float64 `json:"a" yaml:"a"`
	B float64 `json:"b" yaml:"b"`
	C float64 `json:"c,omitempty" yaml:"c,omitempty"`
}

// At returns the cost of a message of x bytes in so many segments.
func (l Line) At(x, segments float64) float64 { return l.A + l.B*x + l.C*segments }
