// Package run holds the one loop that measures: it starts a Workload, reads
// every Meter at each tick and hands readings to sinks.
package run

import (
	"context"
	"errors"
	"time"

	"github.com/linerate/linerate/result"
)

// A Meter reads cumulative counters. Rates are derived once, by readers of the
// Result, so that no two places divide by different clocks.
type Meter interface {
	Name() string
	Read(ctx context.Context) ([]result.Value, error)
}

// Far is a Meter of the other end of the link: its values become readings of
// that end.
type Far interface {
	Meter
	End() string // role of the end in the Result
}

// A Workload offers load until its own end or the context's. It is a Meter
// too: its counters are read at the same tick as the host's.
type Workload interface {
	Meter
	Spec() result.Workload
	Run(ctx context.Context) error
}

// A Sink watches a run. Reading must not block: a slow sink drops, never the
// workload.
type Sink interface {
	Reading(result.Reading)
	Done(*result.Result) error
}

// Options of a run.
type Options struct {
	Every  time.Duration // between readings; 0 means one second
	Meters []Meter
	Sinks  []Sink
	Ends   []result.End
	Totals func(*result.Result) []result.Value // figures of the whole run, from its readings
}

// Record runs w while reading it and every meter, and returns the Result also
// when the workload fails or ctx ends: Ending says which, and the error is the
// workload's (nil for an interrupt). A meter that fails is read no more and
// becomes a Gap.
func Record(ctx context.Context, w Workload, o Options) (*result.Result, error) {
	if o.Every <= 0 {
		o.Every = time.Second
	}
	start := time.Now()
	r := &result.Result{
		Schema: result.SchemaID, ID: result.NewID(start), Origin: result.Measured,
		Start: start, Workload: w.Spec(), Ends: o.Ends,
	}
	rd := newReader(r, append([]Meter{w}, o.Meters...), o.Sinks)

	// The last tick reads the meters after ctx has ended.
	live := context.WithoutCancel(ctx)
	rd.tick(live)
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t := time.NewTicker(o.Every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			rd.tick(live)
		case err := <-done:
			rd.tick(live)
			r.Duration = time.Since(start)
			err = end(ctx, r, err)
			if o.Totals != nil {
				r.Totals = o.Totals(r)
			}
			for _, s := range o.Sinks {
				err = errors.Join(err, s.Done(r))
			}
			return r, err
		}
	}
}

// end fills in how the run ended and keeps the error that the caller must see.
func end(ctx context.Context, r *result.Result, err error) error {
	switch {
	case ctx.Err() != nil:
		r.Ending, r.Error = result.Interrupted, context.Cause(ctx).Error()
		if errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)) {
			return nil
		}
	case err != nil:
		r.Ending = result.Failed
	default:
		r.Ending = result.Completed
	}
	if err != nil {
		r.Error = err.Error()
	}
	return err
}
