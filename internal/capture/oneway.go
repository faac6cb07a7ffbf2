package capture

import "github.com/linerate/linerate/internal/wire/frame"

// oneWay follows the delay from one end to the capture point by that end's
// timestamp clock: what it grows by over the connection's first packet is
// queue.
type oneWay struct {
	last  uint32
	tick  int64 // nanoseconds of one step of the clock, 0 until known
	least int64
	queue histogram
}

// add takes a segment's timestamps. The step of the clock comes from the time
// it took to arrive, or from the other end's clock, which it echoes: a growing
// queue can only lengthen either.
func (w *oneWay) add(o *frame.Options, t int64, h *handshake, peer *oneWay, ph *handshake) {
	if o.TSval == w.last {
		return // the first of a step is the least late
	}
	w.last = o.TSval
	steps := int64(int32(o.TSval - h.stamp))
	passed := t - h.stampAt
	if w.tick == 0 {
		if passed < 200_000_000 || steps < 10 {
			return
		}
		step := passed / steps
		if w.tick = nearestTick(step); peer.tick == 0 && ph.stamped && passed < 1e9 && (step < w.tick*9/10 || step > w.tick*11/10) {
			w.tick = 0 // a queue may be growing; the echoes will tell
			return
		}
		if echoed := int64(int32(o.TSecr - ph.stamp)); peer.tick > 0 && echoed > 0 {
			step = min(step, echoed*peer.tick/steps)
		}
		w.tick = nearestTick(step)
	}
	d := passed - steps*w.tick
	w.least = min(w.least, d)
	w.queue.add(d - w.least)
}

// nearestTick snaps a measured step to the clocks that stacks use (RFC 7323
// 5.4 allows 1 ms to 1 s; Linux can use 1 µs).
func nearestTick(measured int64) int64 {
	best, bestRatio := int64(0), 0.0
	for _, tick := range []int64{1_000, 1_000_000, 4_000_000, 10_000_000, 100_000_000, 500_000_000} {
		ratio := float64(tick) / float64(max(measured, 1))
		if ratio > 1 {
			ratio = 1 / ratio
		}
		if ratio > bestRatio {
			best, bestRatio = tick, ratio
		}
	}
	return best
}
