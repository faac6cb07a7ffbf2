package frame

import "math/bits"

// Buckets is the length of a histogram: 16 buckets an octave.
const Buckets = 1024

// Histogram counts times in buckets 6 % wide, as histogram.h does in the kernel.
type Histogram struct {
	N      uint64
	counts [Buckets]uint64
}

// bucketOf is the twin of bucket in histogram.h.
func bucketOf(ns uint64) int {
	if ns < 16 {
		return int(ns)
	}
	e := bits.Len64(ns) - 1
	return min((e-3)*16+int(ns>>(e-4)&15), Buckets-1)
}

// lower is the least time of a bucket in ns.
func lower(b int) uint64 {
	if b < 16 {
		return uint64(b)
	}
	return uint64(16+b%16) << (b/16 - 1)
}

// AddTo counts n times in one bucket, as read from the kernel.
func (h *Histogram) AddTo(bucket int, n uint64) {
	h.N += n
	h.counts[bucket] += n
}

// Add counts one time.
func (h *Histogram) Add(ns uint64) {
	h.N++
	h.counts[bucketOf(ns)]++
}

// Quantile returns the time in ns below which the share q of the times is, to
// the width of a bucket.
func (h *Histogram) Quantile(q float64) float64 {
	want := q * float64(h.N)
	sum := uint64(0)
	for b, n := range h.counts {
		if sum += n; n > 0 && float64(sum) >= want {
			return float64(lower(b)+lower(b+1)) / 2
		}
	}
	return 0
}

// Max returns the upper edge of the last bucket in use, in ns.
func (h *Histogram) Max() float64 {
	for b := Buckets - 1; b >= 0; b-- {
		if h.counts[b] > 0 {
			return float64(lower(b + 1))
		}
	}
	return 0
}

// Merge adds the counts of o.
func (h *Histogram) Merge(o *Histogram) {
	h.N += o.N
	for b, n := range o.counts {
		h.counts[b] += n
	}
}
