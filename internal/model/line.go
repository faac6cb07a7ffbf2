package model

// Line is a cost of a + b x per message: seconds over bytes, as a sweep's fit
// (workload/stream) gives it.
type Line struct {
	A float64 `json:"a" yaml:"a"`
	B float64 `json:"b" yaml:"b"`
}

// At returns the cost of x.
func (l Line) At(x float64) float64 { return l.A + l.B*x }
