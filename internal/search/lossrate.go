package search

import (
	"context"
	"time"
)

// FrameLossRate measures the frame loss rate over load (RFC 2544 section
// 26.3): from max down in steps of step (a share of max, at most a tenth),
// until two successive trials lose nothing.
func FrameLossRate(ctx context.Context, m Measurer, maximum FramesPerSecond, step float64, d time.Duration, seen func(Trial)) ([]Trial, error) {
	step = min(max(step, 0.001), 0.1)
	l := &log{m: m, seen: seen}
	clean := 0
	for i := 0; clean < 2; i++ {
		share := 1 - float64(i)*step
		if share < step/2 {
			break
		}
		t, err := l.measure(ctx, maximum*FramesPerSecond(share), d)
		if err != nil {
			return l.trials, err
		}
		if t.LossRatio == 0 {
			clean++
		} else {
			clean = 0
		}
	}
	return l.trials, nil
}
