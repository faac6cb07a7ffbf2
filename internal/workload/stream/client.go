package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/linerate/linerate/result"
)

// endTimeout bounds the exchange of results after an interrupt.
const endTimeout = 10 * time.Second

// Client runs one test against a peer. It is a run.Workload.
type Client struct {
	Test    Test
	Dialect Dialect
	Peer    string // as the user wrote it

	// Track is called with each stream before payload moves and returns what to
	// call before it is closed; nil: not called.
	Track func(i int, s *Stream) (stop func())

	mu      sync.Mutex
	group   *Group
	outcome Outcome
}

// Outcome is what both ends measured.
type Outcome struct {
	Test   Test
	Own    Report
	Remote *Report // nil where the peer gave none
	Group  *Group
}

// Name is the client's name as a meter.
func (c *Client) Name() string { return "stream" }

// Spec returns the parameters that repeat the test.
func (c *Client) Spec() result.Workload { return c.Test.Spec(c.Dialect.Name(), c.Peer) }

// Run does the test until its end, the peer's or ctx's. What was measured until
// then is in Outcome also when it fails.
func (c *Client) Run(ctx context.Context) error {
	if err := c.Test.Check(); err != nil {
		return err
	}
	s, err := c.Dialect.Open(ctx, c.Test)
	if err != nil {
		return err
	}
	defer s.Close()
	g, err := NewGroup(c.Test, s.Streams())
	if err != nil {
		return err
	}
	if c.Track != nil {
		for i, st := range s.Streams() {
			defer c.Track(i, st)()
		}
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	g.Start()
	c.mu.Lock()
	c.group = g
	c.mu.Unlock()

	cause := c.wait(ctx, g, s)
	streams := g.Stop()
	o := Outcome{Test: c.Test, Own: g.Report(), Group: g}
	defer func() {
		c.mu.Lock()
		c.outcome = o
		c.mu.Unlock()
	}()
	if cause != nil && ctx.Err() == nil {
		return errors.Join(cause, streams)
	}
	// An interrupted test ends like any other: the peer's figures are the ones
	// that count.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	remote, err := s.End(end, o.Own)
	if err != nil {
		return errors.Join(fmt.Errorf("results of the peer: %w", err), streams)
	}
	o.Remote = &remote
	return errors.Join(ctx.Err(), streams)
}

// wait returns at the end of the test; an error says that it came early.
func (c *Client) wait(ctx context.Context, g *Group, s Session) error {
	var timer <-chan time.Time
	if c.Test.Duration > 0 {
		timer = time.After(c.Test.Omit + c.Test.Duration)
	}
	select {
	case <-timer:
		return nil
	case <-g.Done():
		return nil
	case err := <-s.Broken():
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Outcome returns what was measured; valid after Run.
func (c *Client) Outcome() Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.outcome
}

// Read returns the counters of this end's streams.
func (c *Client) Read(context.Context) ([]result.Value, error) {
	c.mu.Lock()
	g := c.group
	c.mu.Unlock()
	if g == nil {
		return nil, nil
	}
	var vs []result.Value
	for i, s := range g.Streams {
		n := s.Counts()
		labels := []string{"stream", strconv.Itoa(i + 1), "direction", string(s.Role.direction())}
		vs = append(vs, result.Bytes.Of(float64(n.Bytes), labels...), result.Messages.Of(float64(n.Messages), labels...),
			result.Syscalls.Of(float64(n.Syscalls), labels...))
		if s.Role == Receiver && c.Test.Protocol == UDP {
			vs = append(vs, result.DatagramsLost.Of(float64(n.Lost()), labels...),
				result.DatagramsReordered.Of(float64(n.Reordered), labels...),
				result.DatagramsDuplicate.Of(float64(n.Duplicates), labels...), result.Jitter.Of(n.Jitter.Seconds(), labels...))
		}
		if s.Role == Requester {
			vs = append(vs, result.Transactions.Of(float64(n.Transactions), labels...))
		}
	}
	return vs, nil
}

// direction returns the way of a role's payload, seen from the client.
func (r Role) direction() Direction {
	switch r {
	case Sender:
		return Transmit
	case Receiver:
		return Receive
	}
	return Both
}
