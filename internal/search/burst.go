package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// A BurstMeasurer sends a burst of frames with the least gap after idle and
// reports how many were lost.
type BurstMeasurer interface {
	Burst(ctx context.Context, frames uint64) (lost uint64, err error)
}

// BackToBack is the benchmark of RFC 9004, which updates RFC 2544 section 26.4.
type BackToBack struct {
	Rate       FramesPerSecond // theoretical maximum at this frame size
	Throughput FramesPerSecond // of this frame size; must be below Rate
	Limit      time.Duration   // longest burst tried, at most 30 s
	Step       uint64          // search ends within so many frames; at least 1
	Tests      int             // independent searches: 50 (RFC 2544)
	Repeats    int             // loss verification: repeat a lossy burst so often
}

// Errors of BackToBack.
var (
	// ErrNotApplicable: at a throughput equal to the maximum frame rate the
	// buffer never fills (RFC 9004 section 5.1).
	ErrNotApplicable = errors.New("not applicable: throughput equals the maximum frame rate")
	// ErrBurstLimit: the longest lossless burst is near the limit; repeat with
	// a higher one (RFC 9004 section 5.4).
	ErrBurstLimit = errors.New("burst limit reached")
)

// Bursts is the result of BackToBack.
type Bursts struct {
	Frames                 []uint64 // longest lossless burst of each test
	Average, Min, Max, Dev float64  // frames
	Implied, Corrected     time.Duration
}

// Search runs the tests.
func (s BackToBack) Search(ctx context.Context, m BurstMeasurer) (Bursts, error) {
	var b Bursts
	if s.Throughput >= s.Rate {
		return b, ErrNotApplicable
	}
	limit := uint64(float64(s.Rate) * min(s.Limit, 30*time.Second).Seconds())
	step := max(s.Step, 1)
	for range max(s.Tests, 1) {
		n, err := s.longest(ctx, m, limit, step)
		if err != nil {
			return b, err
		}
		if n+step >= limit {
			return b, fmt.Errorf("burst of %d frames: %w: allow more than %v", n, ErrBurstLimit, s.Limit)
		}
		b.Frames = append(b.Frames, n)
	}
	b.summarize(s)
	return b, nil
}

// longest bisects the burst length.
func (s BackToBack) longest(ctx context.Context, m BurstMeasurer, limit, step uint64) (uint64, error) {
	lo, hi := uint64(0), limit
	for n := limit; ; n = lo + (hi-lo)/2 {
		pass, err := s.try(ctx, m, n)
		if err != nil {
			return 0, err
		}
		if pass {
			lo = n
		} else {
			hi = n
		}
		if hi-lo <= step || n == lo && n == limit {
			return lo, nil
		}
	}
}

func (s BackToBack) try(ctx context.Context, m BurstMeasurer, n uint64) (bool, error) {
	for range s.Repeats + 1 {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		lost, err := m.Burst(ctx, n)
		if err != nil {
			return false, fmt.Errorf("burst of %d frames: %w", n, err)
		}
		if lost == 0 {
			return true, nil
		}
	}
	return false, nil
}

func (b *Bursts) summarize(s BackToBack) {
	b.Min, b.Max = math.Inf(1), math.Inf(-1)
	for _, n := range b.Frames {
		v := float64(n)
		b.Average += v / float64(len(b.Frames))
		b.Min, b.Max = min(b.Min, v), max(b.Max, v)
	}
	for _, n := range b.Frames {
		b.Dev += (float64(n) - b.Average) * (float64(n) - b.Average)
	}
	if len(b.Frames) > 1 {
		b.Dev = math.Sqrt(b.Dev / float64(len(b.Frames)-1))
	}
	b.Implied, b.Corrected = BufferTime(b.Average, s.Rate, s.Throughput)
}

// BufferTime returns the implied and the corrected buffer time of an average
// burst (RFC 9004 section 6.4): while the burst arrives the device also
// forwards at its throughput, so the buffer holds less than the burst.
func BufferTime(average float64, rate, throughput FramesPerSecond) (implied, corrected time.Duration) {
	i := average / float64(rate)
	c := i * (1 - float64(throughput/rate))
	return time.Duration(i * 1e9), time.Duration(c * 1e9)
}
