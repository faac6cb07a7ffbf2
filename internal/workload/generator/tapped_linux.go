package generator

import (
	"errors"
	"os"
	"sync"
	"time"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/wire/frame"
)

// tapped counts what a Port receives: for interfaces without XDP.
type tapped struct {
	port    port.Port
	foreign func(frame []byte)
	stop    chan struct{}
	ended   chan struct{}

	packet frame.Packet // the listener's, kept from one frame to the next

	mu    sync.Mutex
	flows []tracked
	got   Received
	err   error
	watch bool
	split uint64 // sequence number from which Received.After counts
	last  uint64 // arrival of the last frame
}

// tracked is what is known of a flow: a window of the last sequence numbers
// tells a duplicate from a late frame.
type tracked struct {
	next    uint64 // highest sequence number + 1
	seen    [windowWords]uint64
	latency uint64 // of the last stamped frame
}

const (
	windowWords = 16
	ethernet    = 1 // link type
)

// NewTapped returns a Receiver of flows 0 to flows-1 on p, which it closes.
// foreign is given what else comes in, valid during the call; nil: nobody is.
// It never fails here; other systems have none.
func NewTapped(p port.Port, flows int, foreign func(frame []byte)) (Receiver, error) {
	t := &tapped{port: p, foreign: foreign, stop: make(chan struct{}), ended: make(chan struct{}), flows: make([]tracked, flows)}
	go t.listen()
	return t, nil
}

func (t *tapped) Name() string { return t.port.Info().Name }

func (t *tapped) listen() {
	defer close(t.ended)
	into := make([]port.Frame, 256)
	for {
		select {
		case <-t.stop:
			return
		default:
		}
		n, err := t.port.Recv(into)
		real, now := time.Now(), monotonic()
		t.mu.Lock()
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.err = err
			t.mu.Unlock()
			return
		}
		for _, f := range into[:n] {
			// A ring hands frames over in blocks, later than they came.
			t.count(f, now-uint64(max(0, real.Sub(f.At))))
		}
		t.mu.Unlock()
	}
}

func (t *tapped) count(f port.Frame, now uint64) {
	t.packet = frame.Packet{}
	frame.Decode(ethernet, f.Data, f.Len, &t.packet)
	sig, ours, intact := frame.ParseSignature(t.packet.Data)
	switch {
	case !ours:
		t.got.Foreign++
		if t.foreign != nil {
			t.foreign(f.Data)
		}
		return
	case int(sig.Flow) >= len(t.flows):
		t.got.UnknownFlow++
		return
	}
	t.got.Frames++
	t.got.Bytes += uint64(f.Len)
	if !intact {
		t.got.Corrupt++
		return
	}
	flow := &t.flows[sig.Flow]
	if t.watch {
		t.note(flow, sig.Sequence, now)
	}
	before := t.got.Unique
	flow.place(sig.Sequence, &t.got)
	if sig.Sequence >= t.split {
		t.got.After += t.got.Unique - before
	}
	if sig.Stamp > 0 && now > sig.Stamp {
		t.took(flow, now-sig.Stamp)
	}
}

func (t *tapped) took(f *tracked, ns uint64) {
	t.got.Latency.Add(ns)
	if f.latency > 0 {
		t.got.jitter += max(ns, f.latency) - min(ns, f.latency)
		t.got.jitters++
	}
	f.latency = ns
}

// note is the twin of note in generator.bpf.c.
func (t *tapped) note(f *tracked, q, now uint64) {
	if q > f.next {
		t.got.LostAt = now
	}
	if silence := time.Duration(now - t.last); t.last > 0 && silence > t.got.Silence {
		t.got.Silence, t.got.SilenceEnd = silence, now
	}
	t.last = now
}

// place is the twin of place in generator.bpf.c.
func (f *tracked) place(q uint64, r *Received) {
	word, bit := q>>6, uint64(1)<<(q&63)
	w := &f.seen[word%windowWords]
	switch {
	case q >= f.next:
		entered := uint64(windowWords)
		if f.next > 0 {
			entered = min(word-(f.next-1)>>6, windowWords)
		}
		for i := range entered {
			f.seen[(word-i)%windowWords] = 0
		}
		*w |= bit
		f.next = q + 1
		r.Unique++
	case f.next-q > (windowWords-1)*64:
		r.TooLate++
	case *w&bit != 0:
		r.Duplicate++
	default:
		*w |= bit
		r.Reordered++
		r.Unique++
	}
}

// Reset forgets everything counted, and stops watching.
func (t *tapped) Reset() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.flows)
	t.got, t.watch, t.split, t.last = Received{}, false, 0, 0
	return t.err
}

// Watch notes arrival times.
func (t *tapped) Watch(from uint64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watch, t.split = true, from
	return t.err
}

// Counts returns what was counted since Reset.
func (t *tapped) Counts() (Received, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.got
	r.meanJitter()
	return r, t.err
}

// Close stops counting.
func (t *tapped) Close() error {
	close(t.stop)
	<-t.ended
	return t.port.Close()
}
