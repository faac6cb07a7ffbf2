package gateway

import (
	"errors"
	"sync"
	"sync/atomic"
)

// counters are the gateway's own; those of packets are the database's.
type counters struct {
	out, in    atomic.Uint64 // packets
	super      atomic.Uint64 // writes to the device
	malformed  atomic.Uint64 // super-packets of the device
	refused    atomic.Uint64 // by the stack
	unsent     atomic.Uint64 // by the link
	keepAlives atomic.Uint64
	past       atomic.Uint64 // frames past the stack
}

// closing is what Close undoes, last first.
type closing struct {
	mu   sync.Mutex
	todo []func() error
}

func (c *closing) add(f func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.todo = append(c.todo, f)
}

func (c *closing) all() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.todo) - 1; i >= 0; i-- {
		err = errors.Join(err, c.todo[i]())
	}
	c.todo = nil
	return err
}
