package fleet

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/linerate/linerate/result"
)

// Meter reads the far end's counters as those of an end of a run.
type Meter struct {
	Client     *Client
	Role       string   // of the far end in the Result
	Interfaces []string // none: all
}

// Selection says what the verb "meters" is to read.
type Selection struct {
	Interfaces []string `json:"interfaces,omitempty"`
	Sends      bool     `json:"sends,omitempty"` // that end sends the payload
}

// Name of the meter.
func (m Meter) Name() string { return m.Client.Peer.Name }

// End is the role of the end that is read.
func (m Meter) End() string { return m.Role }

// Read asks the agent for one reading.
func (m Meter) Read(ctx context.Context) ([]result.Value, error) {
	return Call[[]result.Value](ctx, m.Client, "meters", Selection{Interfaces: m.Interfaces})
}

// Clock is what an agent answers to the verb "clock".
type Clock struct {
	Monotonic int64 `json:"monotonic_ns"` // CLOCK_MONOTONIC, which stamps frames
}

// Offset is how far the far end's clock is ahead of ours.
type Offset struct {
	Ahead time.Duration
	Error time.Duration // half the round trip: the offset is within it
}

// probes is how often the clock is asked; the fastest answer tells most.
const probes = 15

// ClockOffset estimates the offset of the far end's monotonic clock by the
// exchange with the shortest round trip (RFC 5905 section 8). now reads ours.
func ClockOffset(ctx context.Context, c *Client, now func() int64) (Offset, error) {
	best := Offset{Error: math.MaxInt64}
	for range probes {
		sent := now()
		there, err := Call[Clock](ctx, c, "clock", Nothing{})
		if err != nil {
			return best, err
		}
		back := now()
		if half := time.Duration(back-sent) / 2; half < best.Error {
			best = Offset{time.Duration(there.Monotonic-sent) - half, half}
		}
	}
	if best.Error == math.MaxInt64 {
		return best, errors.New("no answer in time")
	}
	return best, nil
}
