package frame

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestHistogram(t *testing.T) {
	var h Histogram
	r := rand.New(rand.NewPCG(1, 2))
	var all []float64
	for range 10_000 {
		v := uint64(r.ExpFloat64() * 1e4)
		h.Add(v)
		all = append(all, float64(v))
	}
	slices.Sort(all)
	for _, q := range []float64{0.5, 0.99, 0.999} {
		want := all[int(q*float64(len(all)))]
		if got := h.Quantile(q); got < want*0.93 || got > want*1.07 {
			t.Errorf("quantile %v = %v, want about %v", q, got, want)
		}
	}
	if h.Max() < all[len(all)-1] || h.Max() > all[len(all)-1]*1.07 {
		t.Errorf("max %v, want about %v", h.Max(), all[len(all)-1])
	}
	for ns := range uint64(100_000) {
		if b := bucketOf(ns); lower(b) > ns || lower(b+1) <= ns {
			t.Fatalf("%d ns in bucket %d, from %d to %d", ns, b, lower(b), lower(b+1))
		}
	}
}
