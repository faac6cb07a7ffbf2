package nic

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"
)

// TimerKind is how a Timer waits.
type TimerKind string

// The kinds. Go's own timers fire a millisecond late and are of no use here.
const (
	Sleep  TimerKind = "sleep"  // the kernel's high-resolution sleep: 25 to 50 us late, costs nothing
	Hybrid TimerKind = "hybrid" // sleeps, then spins for the last 60 us
	Spin   TimerKind = "spin"   // spins: exact, takes a core
)

// ParseTimer reads the name of a kind.
func ParseTimer(s string) (TimerKind, error) {
	switch k := TimerKind(s); k {
	case Sleep, Hybrid, Spin:
		return k, nil
	}
	return "", fmt.Errorf("timer %q: want sleep, hybrid or spin", s)
}

// Timer is the clock that paces interrupts.
type Timer interface {
	Now() time.Duration // since any start

	// Sleep returns after d; a clock that knows of arrivals may return at one.
	Sleep(d time.Duration)

	// Spin takes processor time for d.
	Spin(d time.Duration)

	// Lateness returns how late Sleep returned so far; empty where it never is.
	Lateness() Lateness
}

// NewTimer returns a Timer of the given kind for one goroutine that holds its
// thread.
func NewTimer(k TimerKind) Timer { return &clock{kind: k, start: time.Now()} }

// Lateness is a histogram of how much longer than asked waits took, and what
// they took on average.
type Lateness struct {
	Kind  TimerKind `json:"kind"`
	Waits int64     `json:"waits"`
	Mean  float64   `json:"mean_s"`
	P99   float64   `json:"p99_s"` // upper edge of its power of two
}

// clock waits on the real clock.
type clock struct {
	kind  TimerKind
	start time.Time

	waits, sum atomic.Int64
	late       [40]atomic.Int64 // by the power of two of ns
}

// early is how long before the end a Hybrid wakes up to spin: what the
// kernel's sleep is late by at worst, nearly always.
const early = 60 * time.Microsecond

func (c *clock) Now() time.Duration { return time.Since(c.start) }

func (c *clock) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	began := c.Now()
	switch c.kind {
	case Spin:
		c.Spin(d)
	case Hybrid:
		if d > early {
			sleepFor(d - early)
		}
		c.Spin(d - (c.Now() - began))
	default:
		sleepFor(d)
	}
	late := max(int64(c.Now()-began-d), 0)
	c.waits.Add(1)
	c.sum.Add(late)
	c.late[min(bits.Len64(uint64(late)), len(c.late)-1)].Add(1)
}

func (c *clock) Spin(d time.Duration) {
	for end := c.Now() + d; c.Now() < end; {
	}
}

func (c *clock) Lateness() Lateness {
	l := Lateness{Kind: c.kind, Waits: c.waits.Load()}
	if l.Waits == 0 {
		return l
	}
	l.Mean = float64(c.sum.Load()) / float64(l.Waits) / 1e9
	seen := int64(0)
	for i := range c.late {
		if seen += c.late[i].Load(); seen*100 >= l.Waits*99 {
			l.P99 = float64(uint64(1)<<i) / 1e9
			break
		}
	}
	return l
}
