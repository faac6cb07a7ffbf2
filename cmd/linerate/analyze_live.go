package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/linerate/linerate/internal/capture"
	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/result"
)

// headerBytes is what a live capture keeps of a frame: all headers with
// tunnels and options.
const headerBytes = 192

// live watches an interface until the user stops it, and says once a second
// what bounds the largest connections.
func (o *analyzeOptions) live(ctx context.Context, c cli) (*result.Result, error) {
	tap, err := port.Listen(o.iface, headerBytes)
	if err != nil {
		return nil, fmt.Errorf("analyze: %w", err)
	}
	defer tap.Close()
	e := o.engine()
	frames := make([]port.Frame, tap.Info().Batch)
	var f capture.Frame
	var drops uint64
	next := time.Now().Add(time.Second)
	for ctx.Err() == nil {
		n, err := tap.Recv(frames)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, fmt.Errorf("analyze: %w", err)
		}
		for i := range frames[:n] {
			f.Data, f.At, f.Len, f.Link = frames[i].Data, frames[i].At.UnixNano(), frames[i].Len, tap.Info().Link
			e.Add(&f)
		}
		if now := time.Now(); !now.Before(next) {
			next = now.Add(time.Second)
			if drops, err = tap.Dropped(); err != nil {
				return nil, fmt.Errorf("analyze: %w", err)
			}
			showLive(c, e, drops)
		}
	}
	r := e.Result(capture.Source{Name: o.iface, Format: "live", Filter: o.filter, Drops: drops})
	r.Ending = result.Interrupted
	return r, nil
}

// showLive prints a line for each of the largest directions.
func showLive(c cli, e *capture.Engine, drops uint64) {
	fmt.Fprintf(c.err, "%s  %d frames, %d lost by the capture\n", time.Now().Format("15:04:05"), e.Frames(), drops)
	for _, x := range e.Largest() {
		rate, _ := result.Get(x.Values, result.Goodput)
		confidence := 0.0
		if len(x.Findings) > 0 {
			confidence = x.Findings[0].Confidence
		}
		fmt.Fprintf(c.err, "  %-44s %-28s %s (%.0f %%)\n", x.Name(), result.FormatRate(rate), x.Verdict, 100*confidence)
	}
}
