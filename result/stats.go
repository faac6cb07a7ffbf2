package result

import (
	"math"
	"slices"
)

// Summary describes repeats of one figure.
type Summary struct {
	N                int
	Min, Median, Max float64
	Lo, Hi           float64 // interval that holds the true median with at least 95 % confidence; Min, Max below 6 repeats
}

// Summarize orders xs and returns its summary; the interval is the
// distribution-free one from order statistics (binomial, p = 1/2). NaNs are
// left out. An empty xs gives N 0.
func Summarize(xs []float64) Summary {
	s := slices.DeleteFunc(slices.Clone(xs), math.IsNaN)
	n := len(s)
	if n == 0 {
		return Summary{}
	}
	slices.Sort(s)
	out := Summary{N: n, Min: s[0], Max: s[n-1], Median: s[n/2], Lo: s[0], Hi: s[n-1]}
	if n%2 == 0 {
		out.Median = (s[n/2-1] + s[n/2]) / 2
	}
	// The k-th smallest and k-th largest bracket the median with probability
	// 1 - 2 P(B(n, 1/2) < k); take the greatest k that keeps 95 %.
	tail, p := 0.0, math.Pow(0.5, float64(n))
	for k := 1; k <= n/2; k++ {
		tail += p
		if 2*tail > 0.05 {
			break
		}
		out.Lo, out.Hi = s[k-1], s[n-k]
		p *= float64(n-k+1) / float64(k)
	}
	return out
}
