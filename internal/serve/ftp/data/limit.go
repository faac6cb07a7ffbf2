package data

import (
	"context"
	"sync"
	"time"
)

// Limiter paces transfers to a rate together. It is safe for use by many.
type Limiter struct {
	rate float64 // bytes per second
	mu   sync.Mutex
	due  time.Time // when what has been moved so far is paid off
}

// NewLimiter returns a Limiter of rate bytes per second.
func NewLimiter(rate int64) *Limiter { return &Limiter{rate: float64(max(rate, 1))} }

// burst returns the most bytes worth moving at once: a fiftieth of a second's.
func (l *Limiter) burst() int64 { return max(int64(l.rate/50), 512) }

// Wait counts n bytes as moved and waits until the rate allows for the next,
// or ctx ends.
func (l *Limiter) Wait(ctx context.Context, n int) error {
	l.mu.Lock()
	now := time.Now()
	if l.due.Before(now) {
		l.due = now
	}
	l.due = l.due.Add(time.Duration(float64(n) / l.rate * float64(time.Second)))
	wait := l.due.Sub(now)
	l.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
