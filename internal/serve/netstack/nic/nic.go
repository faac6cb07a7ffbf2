package nic

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Config is how the card is built and how its driver treats it.
type Config struct {
	Transmit int    // transmit descriptors; 0: 256
	Queue    int    // packets that the driver holds for when they are all in use; 0: 1000
	Budget   int    // most frames one poll serves; 0: 64
	Pacing   Pacing // of receive interrupts
	Timer    Timer  // nil: NewTimer(Sleep)

	// What a board's interrupt and its way of placing frames cost.
	InterruptCost time.Duration // processor time added to each receive interrupt
	StopAfterEach bool          // the DMA stops after each frame and is restarted (NIOS II)
	Split         int           // bytes of each frame that go to a memory of their own; 0: none (Zynq: 64)

	ReclaimInSend     bool // the send path frees completed descriptors, else the card's own work does
	TransmitInterrupt int  // completions per transmit interrupt; 0: none is raised

	Trace int // calls kept; 0: none
}

// Driver gets what the card received. Both calls come from one goroutine.
type Driver interface {
	// Receive takes a frame; head and body are valid during the call. body is
	// empty unless the card splits frames.
	Receive(head, body []byte, checked bool)

	// Flush ends what one interrupt brought.
	Flush()
}

// NIC is a card on a wire.
type NIC struct {
	wire  Wire
	cfg   Config
	timer Timer
	pacer pacer
	trace *trace
	place *placement // nil: frames stay where the wire put them
	count counts

	tx ring
}

// counts are what the card did since it was made.
type counts struct {
	interrupts, frames, received atomic.Int64 // received in bytes
	polls                        atomic.Int64
	restarts                     atomic.Int64
	longest                      atomic.Int64 // batch
	held, worst                  atomic.Int64 // ns from first frame to interrupt: the sum, the worst
	fifo                         [2]atomic.Int64

	kicks, sent         atomic.Int64
	full, dropped       atomic.Int64 // packets that found no descriptor, and not even a place in the queue
	reclaimed, txEvents atomic.Int64
}

// New returns a card on w, which it closes with Close.
func New(w Wire, c Config) (*NIC, error) {
	if c.Transmit == 0 {
		c.Transmit = 256
	}
	if c.Queue == 0 {
		c.Queue = 1000
	}
	if c.Budget == 0 {
		c.Budget = 64
	}
	if c.Timer == nil {
		c.Timer = NewTimer(Sleep)
	}
	p, err := c.Pacing.check(w.Info().Ring)
	if err != nil {
		return nil, fmt.Errorf("nic: %w", err)
	}
	if c.Transmit < 2 || c.Queue < 0 || c.Budget < 1 || c.Split < 0 || c.Trace < 0 || c.TransmitInterrupt < 0 {
		return nil, errors.New("nic: want at least 2 transmit descriptors, a budget of at least 1 frame, and nothing negative")
	}
	n := &NIC{wire: w, cfg: c, timer: c.Timer, pacer: pacer{Pacing: p}, trace: newTrace(c.Trace)}
	if c.Split > 0 {
		n.place = newPlacement(c.Split)
	}
	n.tx.init(c.Transmit, c.Queue)
	return n, nil
}

// Info returns what the card's wire is.
func (n *NIC) Info() Info { return n.wire.Info() }

// Calls returns the trace, oldest call first.
func (n *NIC) Calls() []Call { return n.trace.recent() }

// Run receives into d and sends what Send queued until ctx ends, and returns
// the error of the wire if one ended it.
func (n *NIC) Run(ctx context.Context, d Driver) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var done sync.WaitGroup
	done.Go(func() { cancel(n.transmit(ctx)) })
	err := n.receive(ctx, d)
	cancel(err)
	n.tx.wake()
	done.Wait()
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}

// Close frees the wire; Run must have returned.
func (n *NIC) Close() error {
	n.tx.drop()
	return n.wire.Close()
}
