package result

import (
	"math"
	"testing"
)

// ramp returns 1 ... n, greatest first.
func ramp(n int) []float64 {
	var xs []float64
	for i := range n {
		xs = append(xs, float64(n-i))
	}
	return xs
}

// The ranks are the greatest k with 2 P(B(n, 1/2) < k) <= 5 %, from the table of
// the binomial distribution.
func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		n              int
		median, lo, hi float64
	}{
		{1, 1, 1, 1}, {2, 1.5, 1, 2}, {5, 3, 1, 5}, {6, 3.5, 1, 6}, {8, 4.5, 1, 8},
		{9, 5, 2, 8}, {10, 5.5, 2, 9}, {12, 6.5, 3, 10}, {15, 8, 4, 12}, {20, 10.5, 6, 15}, {25, 13, 8, 18}, {30, 15.5, 10, 21},
	} {
		s := Summarize(ramp(c.n))
		want := Summary{N: c.n, Min: 1, Median: c.median, Max: float64(c.n), Lo: c.lo, Hi: c.hi}
		if s != want {
			t.Errorf("n %d: got %+v, want %+v", c.n, s, want)
		}
	}
}

func TestSummarizeOdd(t *testing.T) {
	if s := Summarize(nil); s != (Summary{}) {
		t.Errorf("of nothing: %+v", s)
	}
	xs := []float64{3, math.NaN(), 1}
	if s := Summarize(xs); s.N != 2 || s.Median != 2 {
		t.Errorf("NaN is not left out: %+v", s)
	}
	if xs[0] != 3 || xs[2] != 1 {
		t.Error("Summarize reordered its argument")
	}
}
