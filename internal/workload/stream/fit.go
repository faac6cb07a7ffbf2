package stream

import (
	"errors"
	"math"
)

// Fit is the cost of a message of m bytes as t = A + B m.
type Fit struct {
	A         float64   // seconds per message
	B         float64   // seconds per byte
	Residuals []float64 // measured over fitted time, less one, of each point
}

// ErrFit is returned for points that no line goes through.
var ErrFit = errors.New("a fit needs two message sizes and times above zero")

// FitCost fits the line to points of message size in bytes and time in
// seconds. Errors count relative to the time measured, so that 64-byte messages
// weigh as much as 64 KiB ones; A and B are not below 0.
func FitCost(sizes, times []float64) (Fit, error) {
	var sw, sx, sy, sxx, sxy float64
	for i, t := range times {
		if t <= 0 || math.IsNaN(t) || math.IsInf(t, 0) || i >= len(sizes) {
			return Fit{}, ErrFit
		}
		w, x := 1/(t*t), sizes[i]
		sw, sx, sy, sxx, sxy = sw+w, sx+w*x, sy+w*t, sxx+w*x*x, sxy+w*x*t
	}
	det := sw*sxx - sx*sx
	if len(times) < 2 || det <= 1e-12*sw*sxx {
		return Fit{}, ErrFit
	}
	f := Fit{A: (sy*sxx - sx*sxy) / det, B: (sw*sxy - sx*sy) / det}
	if f.A < 0 {
		f.A, f.B = 0, sxy/sxx
	}
	if f.B < 0 {
		f.A, f.B = sy/sw, 0
	}
	for i, t := range times {
		f.Residuals = append(f.Residuals, t/(f.A+f.B*sizes[i])-1)
	}
	return f, nil
}
