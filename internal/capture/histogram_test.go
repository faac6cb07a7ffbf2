package capture

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestHistogramQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 5, exact, exact + 1, 50000} {
		var h histogram
		var all []float64
		for range n {
			v := int64(math.Exp(rng.Float64() * 20))
			h.add(v)
			all = append(all, float64(v))
		}
		slices.Sort(all)
		for _, q := range []float64{0, 0.02, 0.5, 0.9, 1} {
			want := all[int(q*float64(n-1))]
			if got := h.quantile(q); n > 1000 && math.Abs(got-want) > 0.07*want+1 {
				t.Errorf("n %d q %.2f: %.0f, want %.0f", n, q, got, want)
			}
		}
		if h.quantile(1) != all[n-1] || h.quantile(0) > all[0]+1 && n <= exact {
			t.Errorf("n %d: ends %.0f and %.0f, want %.0f and %.0f", n, h.quantile(0), h.quantile(1), all[0], all[n-1])
		}
	}
}

func TestBucketsMeet(t *testing.T) {
	for _, v := range []int64{0, 1, 15, 16, 17, 31, 32, 33, 34, 1000, 1 << 20, 1<<40 + 12345} {
		i := bucketOf(v)
		if float64(v) < bucketStart(i) || float64(v) >= bucketStart(i+1) {
			t.Errorf("%d in bucket %d [%.0f, %.0f)", v, i, bucketStart(i), bucketStart(i+1))
		}
	}
}
