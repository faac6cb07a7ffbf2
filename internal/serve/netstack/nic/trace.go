package nic

import (
	"sync"
	"time"
)

// Routine is which of the driver's routines a Call was of.
type Routine string

// The driver's routines.
const (
	Receive  Routine = "receive"
	Transmit Routine = "transmit"
)

// Call is one entry of the trace, as the field report's debug buffer has it.
type Call struct {
	Routine Routine       `json:"routine"`
	Frame   int64         `json:"frame"`  // number of its first frame
	Frames  int           `json:"frames"` // handled by this call
	Since   time.Duration `json:"since"`  // since the routine was entered last, ns
	Inside  time.Duration `json:"inside"` // ns
}

// trace keeps the last calls in a circle.
type trace struct {
	mu    sync.Mutex
	calls []Call
	next  int
	last  map[Routine]time.Duration // entry times
}

func newTrace(n int) *trace {
	return &trace{calls: make([]Call, 0, n), last: map[Routine]time.Duration{}}
}

// note adds a call that was entered at in and left at out.
func (t *trace) note(r Routine, frame int64, frames int, in, out time.Duration) {
	if cap(t.calls) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := Call{Routine: r, Frame: frame, Frames: frames, Since: in - t.last[r], Inside: out - in}
	t.last[r] = in
	if len(t.calls) < cap(t.calls) {
		t.calls = append(t.calls, c)
		return
	}
	t.calls[t.next] = c
	t.next = (t.next + 1) % len(t.calls)
}

// recent returns the calls, oldest first.
func (t *trace) recent() []Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append(append([]Call(nil), t.calls[t.next:]...), t.calls[:t.next]...)
}
