package users

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// Throttle slows down and then refuses who guesses passwords, by address
// across connections.
type Throttle struct {
	Free   int           // wrong passwords without delay
	Most   int           // wrong passwords before the address is refused
	Delay  time.Duration // for the first one that isn't free; doubles with each
	Forget time.Duration // after which one wrong password is forgotten

	mu    sync.Mutex
	wrong map[netip.Prefix]attempts
}

type attempts struct {
	n    int
	last time.Time
}

// NewThrottle returns the Throttle a server should have: three free tries, then
// a delay from a quarter second to four, refused at twenty, one try forgotten a
// minute.
func NewThrottle() *Throttle {
	return &Throttle{Free: 3, Most: 20, Delay: 250 * time.Millisecond, Forget: time.Minute, wrong: map[netip.Prefix]attempts{}}
}

// maxDelay bounds the wait before a password is looked at.
const maxDelay = 4 * time.Second

// maxAddresses bounds the addresses remembered; beyond it any one of them makes
// room for the next.
const maxAddresses = 1 << 16

// network is what counts as one attacker: an address, or a /64 of IPv6.
func network(a netip.Addr) netip.Prefix {
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, _ := a.WithZone("").Prefix(bits) // fails for an invalid address only, which then is a network of its own
	return p
}

func (t *Throttle) wait(ctx context.Context, peer netip.Addr) error {
	n := t.count(network(peer), time.Now())
	switch {
	case n >= t.Most:
		return ErrThrottled
	case n < t.Free:
		return nil
	}
	delay := time.NewTimer(min(t.Delay<<min(n-t.Free, 10), maxDelay))
	defer delay.Stop()
	select {
	case <-delay.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// count returns the wrong passwords of a network that are not forgotten.
func (t *Throttle) count(net netip.Prefix, now time.Time) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left(t.wrong[net], now)
}

func (t *Throttle) left(a attempts, now time.Time) int {
	return max(0, a.n-int(now.Sub(a.last)/t.Forget))
}

func (t *Throttle) fail(peer netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, net := time.Now(), network(peer)
	if len(t.wrong) >= maxAddresses {
		for k := range t.wrong {
			delete(t.wrong, k)
			break
		}
	}
	t.wrong[net] = attempts{n: min(t.left(t.wrong[net], now)+1, t.Most), last: now}
}

func (t *Throttle) succeed(peer netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.wrong, network(peer))
}
