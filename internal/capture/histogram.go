package capture

import (
	"math"
	"math/bits"
	"slices"
)

// subBuckets is how finely a histogram divides each power of two: a bucket is
// 6 % wide, and a quantile interpolates within it.
const (
	subBits    = 4
	subBuckets = 1 << subBits
)

// exact is how many samples are kept as they are before buckets replace them,
// so that a short connection costs little and its quantiles are exact.
const exact = 16

// histogram counts samples in logarithmic buckets: quantiles of any number of
// them in about a kilobyte.
type histogram struct {
	few      []int64
	buckets  []uint32
	base     int // bucket number of buckets[0]
	n        int64
	min, max int64
}

func (h *histogram) add(v int64) {
	v = max(v, 0)
	if h.n == 0 || v < h.min {
		h.min = v
	}
	h.max = max(h.max, v)
	h.n++
	if h.buckets == nil {
		if len(h.few) < exact {
			h.few = append(h.few, v)
			return
		}
		for _, x := range h.few {
			h.count(x)
		}
		h.few = nil
	}
	h.count(v)
}

func (h *histogram) count(v int64) {
	i := bucketOf(v)
	if h.buckets == nil {
		h.base = i &^ (subBuckets - 1)
	}
	if i < h.base {
		low := i &^ (subBuckets - 1)
		h.buckets = slices.Insert(h.buckets, 0, make([]uint32, h.base-low)...)
		h.base = low
	}
	if i -= h.base; i >= len(h.buckets) {
		h.buckets = slices.Grow(h.buckets, i+1-len(h.buckets))
		h.buckets = h.buckets[:min((i/subBuckets+1)*subBuckets, cap(h.buckets))]
	}
	h.buckets[i]++
}

func bucketOf(v int64) int {
	e := bits.Len64(uint64(v))
	if e <= subBits {
		return int(v)
	}
	e -= subBits + 1
	return e<<subBits + int(v>>e)
}

// bucketStart is the smallest value of bucket i.
func bucketStart(i int) float64 {
	if i < 2*subBuckets {
		return float64(i)
	}
	e := i>>subBits - 1
	return math.Ldexp(float64(i-e<<subBits), e)
}

// quantile returns the value below which a share q of the samples lies, 0
// where there is none.
func (h *histogram) quantile(q float64) float64 {
	if h.n == 0 {
		return 0
	}
	if h.buckets == nil {
		s := slices.Clone(h.few)
		slices.Sort(s)
		at := q * float64(len(s)-1)
		i := int(at)
		if i+1 >= len(s) {
			return float64(s[len(s)-1])
		}
		return float64(s[i]) + (at-float64(i))*float64(s[i+1]-s[i])
	}
	rank := q * float64(h.n)
	for i, c := range h.buckets {
		if rank <= float64(c) && c > 0 {
			lo, hi := bucketStart(h.base+i), bucketStart(h.base+i+1)
			v := lo + (hi-lo)*rank/float64(c)
			return min(max(v, float64(h.min)), float64(h.max))
		}
		rank -= float64(c)
	}
	return float64(h.max)
}

func (h *histogram) median() float64 { return h.quantile(0.5) }
