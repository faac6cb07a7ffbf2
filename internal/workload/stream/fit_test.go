package stream

import (
	"errors"
	"math"
	"testing"
)

// The Zynq report's receive figures up to 1,024 bytes, in microseconds per
// message, are known to fit 16.71 us + 4.01 ns per byte.
func TestFitCostZynq(t *testing.T) {
	f, err := FitCost([]float64{64, 128, 256, 512, 1024}, []float64{17.34e-6, 17.25e-6, 17.36e-6, 18.50e-6, 21.07e-6})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(f.A-16.71e-6) > 0.05e-6 || math.Abs(f.B-4.01e-9) > 0.15e-9 {
		t.Errorf("a %.3g b %.3g", f.A, f.B)
	}
	for i, r := range f.Residuals {
		if math.Abs(r) > 0.025 {
			t.Errorf("residual of point %d is %.3f", i, r)
		}
	}
}

func TestFitCostStaysPhysical(t *testing.T) {
	f, err := FitCost([]float64{64, 1500}, []float64{40e-6, 32e-6}) // falls with size
	if err != nil || f.B != 0 || f.A <= 0 {
		t.Errorf("%+v, %v", f, err)
	}
	f, err = FitCost([]float64{1000, 2000}, []float64{1e-6, 4e-6}) // through below zero
	if err != nil || f.A != 0 || f.B <= 0 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestFitCostRefuses(t *testing.T) {
	for _, c := range [][2][]float64{{{64}, {1}}, {{64, 64}, {1, 2}}, {{64, 128}, {1, 0}}, {{64, 128}, {1, math.NaN()}}} {
		if _, err := FitCost(c[0], c[1]); !errors.Is(err, ErrFit) {
			t.Errorf("%v: %v", c, err)
		}
	}
}
