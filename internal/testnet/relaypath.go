package testnet

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/linerate/linerate/internal/wire/frame"
)

// walker takes frames through one Path.
type walker struct {
	path  Path
	rng   *rand.Rand
	count RelayCounters
	free  time.Duration // when the bottleneck has sent what it has
	data  int
	order int
	held  []byte // pure acknowledgement waiting to be replaced by a later one
	since time.Duration
	run   int
	send  func(arrival)
	seen  func(at time.Duration, b []byte) // middle of the path
}

// thinWait is how long an acknowledgement waits for a later one.
const thinWait = 5 * time.Millisecond

func newWalker(p Path, send func(arrival), seen func(time.Duration, []byte)) *walker {
	return &walker{path: p, rng: rand.New(rand.NewPCG(p.Seed, 42)), send: send, seen: seen}
}

// take takes a frame that entered the path at now; it keeps b.
func (w *walker) take(now time.Duration, b []byte) {
	w.count.In++
	if w.path.ThinACKs > 1 && pureACK(b) {
		if w.held != nil {
			w.count.Thinned++
		}
		if w.held == nil {
			w.since = now
		}
		w.held = b
		if w.run++; w.run < w.path.ThinACKs {
			return
		}
	}
	w.flush(now)
	if w.held == nil {
		w.pass(now, b)
	}
}

// flush passes on an acknowledgement that waited, before or instead of another
// frame.
func (w *walker) flush(now time.Duration) {
	if b := w.held; b != nil {
		w.held, w.run = nil, 0
		w.pass(now, b)
	}
}

func (w *walker) pass(now time.Duration, b []byte) {
	p := &w.path
	if p.MaxFrame > 0 && len(b) > p.MaxFrame {
		w.count.TooLong++
		return
	}
	middle := now + p.Delay/2
	w.seen(middle, b)
	data := len(b) > dataFrame
	if data {
		w.data++
	}
	if data && w.rng.Float64() < p.Loss || slices.Contains(p.Drop, w.data) {
		w.count.Lost++
		return
	}
	at := middle
	if p.Rate > 0 {
		w.free = max(w.free, middle)
		if p.Queue > 0 && (w.free-middle).Seconds()*p.Rate/8 > float64(p.Queue) {
			w.count.QueueDrops++
			return
		}
		w.free += time.Duration(float64(frame.OnWire(len(b))) * 8e9 / p.Rate)
		at = w.free
	}
	at += p.Delay - p.Delay/2
	if p.Jitter > 0 {
		at += time.Duration(w.rng.Int64N(int64(p.Jitter)))
	}
	if data && w.rng.Float64() < p.Reorder {
		at += p.ReorderBy
		w.count.Reordered++
	}
	w.emit(at, b)
	if data && w.rng.Float64() < p.Duplicate {
		w.count.Duplicated++
		w.emit(at, b)
	}
}

func (w *walker) emit(at time.Duration, b []byte) {
	w.order++
	w.count.Out++
	w.send(arrival{at, w.order, b})
}

// pureACK reports whether b is a TCP segment over IPv4 that only acknowledges,
// without SACK.
func pureACK(b []byte) bool {
	var p frame.Packet
	if frame.Decode(frame.LinkEthernet, b, len(b), &p).Kind != frame.None || p.Proto != frame.ProtoTCP {
		return false
	}
	return p.Payload == 0 && p.Flags == frame.ACK && p.Options.SACKs == 0 && binary.BigEndian.Uint16(b[12:]) == 0x0800
}
