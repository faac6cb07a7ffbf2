package data

import "sync/atomic"

// Threads lets a number of transfers at a time wait in the kernel, each in a
// thread of its own, instead of in Go's poller: the poller wakes up for every
// acknowledgement and arrival, and on a fast link that takes a good part of the
// rate. The others wait in the poller, as a thread each would be too much for a
// thousand slow ones.
type Threads struct{ free atomic.Int32 }

// NewThreads returns Threads for n transfers at a time.
func NewThreads(n int) *Threads {
	t := &Threads{}
	t.free.Store(int32(n))
	return t
}

// take takes a thread, if one is free; of nil Threads none ever is.
func (t *Threads) take() bool {
	if t == nil {
		return false
	}
	if t.free.Add(-1) < 0 {
		t.free.Add(1)
		return false
	}
	return true
}

func (t *Threads) give() { t.free.Add(1) }
