package model

import (
	"errors"
	"math"
)

// Line is a cost of a + b x per message, e.g. seconds over bytes.
type Line struct {
	A float64 `json:"a" yaml:"a"`
	B float64 `json:"b" yaml:"b"`
}

// At returns the cost of x.
func (l Line) At(x float64) float64 { return l.A + l.B*x }

// Point is one measurement.
type Point struct{ X, Y float64 }

// Fitted is a Line with how far the points are from it, as a share of each.
type Fitted struct {
	Line
	Residuals []float64 // (point - line) / point, in the order of the points
	RMS, Max  float64   // of the residuals
}

// Fit finds the line with the least squares of relative error: a sweep over
// sizes spans decades, and each point is known to so many per cent, not to so
// many microseconds.
func Fit(points []Point) (Fitted, error) {
	var w, wx, wy, wxx, wxy float64
	for _, p := range points {
		if p.Y <= 0 {
			return Fitted{}, errors.New("fit: every cost must be above 0")
		}
		k := 1 / (p.Y * p.Y)
		w, wx, wy, wxx, wxy = w+k, wx+k*p.X, wy+k*p.Y, wxx+k*p.X*p.X, wxy+k*p.X*p.Y
	}
	det := w*wxx - wx*wx
	if len(points) < 2 || math.Abs(det) < 1e-12*w*wxx {
		return Fitted{}, errors.New("fit: want points of at least two sizes")
	}
	f := Fitted{Line: Line{A: (wy*wxx - wx*wxy) / det, B: (w*wxy - wx*wy) / det}}
	for _, p := range points {
		r := (p.Y - f.At(p.X)) / p.Y
		f.Residuals = append(f.Residuals, r)
		f.RMS += r * r / float64(len(points))
		f.Max = max(f.Max, math.Abs(r))
	}
	f.RMS = math.Sqrt(f.RMS)
	return f, nil
}
