//go:build !386 && !arm && !mips && !mipsle

package netstack

import (
	"sync"
	"time"
)

// deadline is when a read or write gives up; setting it also wakes those that
// wait.
type deadline struct {
	mu    sync.Mutex
	at    time.Time
	timer *time.Timer
	woken chan struct{} // closed at the deadline and at every change
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = t
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.wake()
	if t.IsZero() {
		return
	}
	if wait := time.Until(t); wait > 0 {
		d.timer = time.AfterFunc(wait, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.wake()
		})
	}
}

// wake is called with the lock held.
func (d *deadline) wake() {
	if d.woken != nil {
		close(d.woken)
		d.woken = nil
	}
}

func (d *deadline) done() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.woken == nil {
		d.woken = make(chan struct{})
		if !d.at.IsZero() && time.Until(d.at) <= 0 {
			c := d.woken
			d.wake()
			return c
		}
	}
	return d.woken
}

func (d *deadline) passed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.at.IsZero() && time.Until(d.at) <= 0
}
