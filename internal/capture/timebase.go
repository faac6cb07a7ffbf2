package capture

// timebase makes time continuous where the capturing clock was set while it
// ran.
type timebase struct {
	shift  int64 // added to capture times
	last   int64
	gap    int64 // usual distance of frames
	behind int   // frames in a row that lie before last
	lowest int64
	steps  int64
	since  int64 // times before it don't compare with times after it
}

// backward is how far time may fall back by mere disorder: frames of two
// queues or interfaces.
const backward = 1_000_000

// settled is how many frames in a row prove a step.
const settled = 20

// adjust returns the continuous time of a frame. Frames of a step that isn't
// proven yet all get the last time.
func (b *timebase) adjust(at int64) int64 {
	t := at + b.shift
	if b.last == 0 {
		b.last = t
		return t
	}
	if t >= b.last-backward {
		b.behind = 0
		if d := t - b.last; d > 0 {
			if d < 1e9 {
				b.gap += (d - b.gap) / 16
			}
			b.last = t
		}
		return b.last
	}
	b.since = b.last
	if b.behind++; b.behind == 1 || t < b.lowest {
		b.lowest = t
	}
	if b.behind >= settled {
		d := b.last + b.gap - t
		b.shift += d
		b.steps++
		b.behind = 0
		b.last = t + d
		b.since = b.last
	}
	return b.last
}

// forward returns the time of a segment that came long after its connection's
// last. Where the sender's own timestamp clock hardly moved, the capturing
// clock was set forward, and the step is taken out.
func (b *timebase) forward(t, before int64, w *oneWay, val uint32, h *handshake) int64 {
	tick := w.tick
	if tick == 0 {
		tick = 1_000_000
	}
	own := h.stampAt + int64(int32(val-h.stamp))*tick // when the sender says it sent
	if own-before > (t-before)/20 {
		return t
	}
	d := t - before - max(b.gap, own-before, 0)
	b.shift -= d
	b.last -= d
	b.since = b.last
	b.steps++
	return t - d
}
