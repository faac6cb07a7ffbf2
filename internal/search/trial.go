// Package search finds the load at which a device under test begins to lose
// frames. It holds the Controller of the MLRsearch document (RFC 9971) and the
// searches of RFC 2544, RFC 9004 and ETSI GS NFV-TST 009: the Manager, a verb,
// gives the Measurer its traffic profile and the search its goal.
package search

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// FramesPerSecond is a load or a forwarding rate.
type FramesPerSecond float64

// TrialInput is what the Controller asks of one trial; nothing may be added
// (RFC 9971 section 4.3).
type TrialInput struct {
	Duration time.Duration
	Load     FramesPerSecond // intended load, RFC 2285 section 3.5.1
}

// TrialOutput is what the Measurer saw.
type TrialOutput struct {
	LossRatio         float64       // 0 to 1, over all directions together
	EffectiveDuration time.Duration // 0 means the intended one
	ForwardingRate    FramesPerSecond
	Counts            *Counts // where the Measurer counts frames
}

// A Measurer performs one trial: a generator, a datapath model or a fake. Its
// error ends the search, except ErrInvalid, which is tried again.
type Measurer interface {
	Measure(ctx context.Context, in TrialInput) (TrialOutput, error)
}

// ErrInvalid is wrapped by a Measurer's error when the tester, not the device,
// spoilt the trial: it sent late, or less than was asked.
var ErrInvalid = errors.New("invalid trial")

// invalidMax is how often an invalid trial is repeated.
const invalidMax = 3

// Trial is a trial done.
type Trial struct {
	TrialInput
	TrialOutput
}

// Counts are the frames of one trial; read them after the traffic stopped.
type Counts struct {
	Sent, Received       uint64 // Received includes duplicates
	Unique, Duplicate    uint64
	Reordered, Corrupted uint64
	Foreign              uint64 // without our signature; not in Received
}

// Lost returns what was sent and never came. A duplicate does not make up for
// a loss (RFC 2544 section 10).
func (c Counts) Lost() uint64 { return c.Sent - c.Unique }

// Check verifies the counting identities. More received than sent is an error
// of the test, not a loss of zero.
func (c Counts) Check() error {
	switch {
	case c.Unique > c.Sent:
		return fmt.Errorf("%d different frames received, but only %d sent: %w", c.Unique, c.Sent, ErrInvalid)
	case c.Received != c.Unique+c.Duplicate:
		return fmt.Errorf("%d received is not %d unique and %d duplicates: %w", c.Received, c.Unique, c.Duplicate, ErrInvalid)
	case c.Reordered > c.Received:
		return fmt.Errorf("%d reordered of %d received: %w", c.Reordered, c.Received, ErrInvalid)
	}
	return nil
}

// Output makes a TrialOutput of counts.
func (c Counts) Output(in TrialInput) TrialOutput {
	out := TrialOutput{EffectiveDuration: in.Duration, Counts: &c}
	if c.Sent > 0 {
		out.LossRatio = float64(c.Lost()) / float64(c.Sent)
	}
	out.ForwardingRate = in.Load * FramesPerSecond(1-out.LossRatio)
	return out
}

// log performs trials and keeps them all: the report shows each (RFC 2544
// section 26.1, "the results of every trial").
type log struct {
	m      Measurer
	trials []Trial
	seen   func(Trial)
}

func (l *log) measure(ctx context.Context, load FramesPerSecond, d time.Duration) (Trial, error) {
	in := TrialInput{Duration: d, Load: load}
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return Trial{}, context.Cause(ctx)
		}
		out, err := l.m.Measure(ctx, in)
		if err == nil && out.Counts != nil {
			err = out.Counts.Check()
		}
		if errors.Is(err, ErrInvalid) && try < invalidMax {
			continue
		}
		if err != nil {
			return Trial{}, fmt.Errorf("trial at %.0f frame/s for %v: %w", load, d, err)
		}
		if out.LossRatio < 0 || out.LossRatio > 1 {
			return Trial{}, fmt.Errorf("trial at %.0f frame/s: loss ratio %v is not within 0 and 1: %w", load, out.LossRatio, ErrInvalid)
		}
		if out.EffectiveDuration == 0 {
			out.EffectiveDuration = d
		}
		t := Trial{in, out}
		l.trials = append(l.trials, t)
		if l.seen != nil {
			l.seen(t)
		}
		return t, nil
	}
}
