package stream

import "time"

// pace is a schedule of messages at a constant rate, absolute from its start:
// a late message does not delay the next (RFC 2544 section 21 asks for constant
// load).
type pace struct {
	start time.Time
	every float64 // nanoseconds from message to message
	burst int64
}

// newPace returns nil for an unlimited rate.
func newPace(start time.Time, rate float64, message, burst int) *pace {
	if rate <= 0 {
		return nil
	}
	return &pace{start: start, every: float64(message) * 8 / rate * 1e9, burst: int64(max(burst, 1))}
}

// due returns how many of the messages after the first sent are due now, at
// most limit, and how long to wait where none is.
func (p *pace) due(sent int64, limit int) (n int, wait time.Duration) {
	elapsed := time.Since(p.start)
	// Message i (from 0) of a burst leaves with the burst's first one.
	target := (int64(float64(elapsed)/p.every)/p.burst + 1) * p.burst
	if k := target - sent; k > 0 {
		return int(min(k, int64(limit))), 0
	}
	next := time.Duration(float64(sent/p.burst*p.burst) * p.every)
	return 0, max(next-elapsed, 0) + 1 // nanosecond that rounding may have cut
}
