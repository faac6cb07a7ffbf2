package main

import (
	"context"
	"fmt"
	"time"

	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/internal/workload/generator"
	"github.com/linerate/linerate/result"
)

// recovery is section 26.5: overload of 110 % of the throughput, at A a drop to
// half of that, and the time until the last frame lost, B. It is found twice:
// by the stamps of B and A, and by the frames lost at half the rate, each a
// frame time.
func (b *bench2544) recovery(ctx context.Context) error {
	over := min(1.1*float64(b.found.Load), b.m.limit)
	if b.found.Load == 0 || over <= float64(b.found.Load) {
		b.trial("recovery", time.Now(), false, "not applicable: the tester cannot overload the device")
		return nil
	}
	since, d, half := time.Now(), b.o.length().Seconds(), over/2
	first, second := uint64(over*d), uint64(half*d)
	sent, got, err := b.m.offer(ctx, generator.Load{Frames: first + second, Rate: over, StepAfter: first, StepRate: half})
	if err != nil {
		return err
	}
	lost := sent.Frames - first*uint64(len(b.m.rig.directions)) - got.After
	var byStamps time.Duration
	if got.LostAt > sent.Stepped {
		byStamps = time.Duration(got.LostAt - sent.Stepped)
	}
	byCounts := float64(lost) / half / float64(len(b.m.rig.directions))
	b.trial("recovery", since, true, fmt.Sprintf("from %.0f to %.0f frame/s: %d frames lost after the drop, the last showed %v after it", over, half, lost, byStamps),
		result.RecoverySeconds.Of(byStamps.Seconds(), "by", "stamps"), result.RecoverySeconds.Of(byCounts, "by", "counts"), result.FramesLost.Of(float64(lost)))
	return nil
}

// reset is section 26.6 as updated by RFC 6201: at the throughput the device is
// reset, by a command or by the operator, and the time from the last frame
// before to the first one after is taken.
func (b *bench2544) reset(ctx context.Context) error {
	if b.found.Load == 0 {
		b.trial("reset", time.Now(), false, "not applicable: there is no throughput to measure it at")
		return nil
	}
	since, rate := time.Now(), float64(b.found.Load)
	b.m.watch = true
	defer func() { b.m.watch = false }()
	hooked := make(chan error, 1)
	go func() { hooked <- b.trigger(ctx) }()
	sent, got, err := b.m.offer(ctx, generator.Load{Frames: uint64(rate * b.o.window.Seconds()), Rate: rate})
	if hookErr := <-hooked; hookErr != nil {
		return hookErr
	}
	if err != nil {
		return err
	}
	lost := float64(sent.Frames-got.Unique) / rate / float64(len(b.m.rig.directions))
	note := fmt.Sprintf("the longest silence; %.3f s by the frames lost", lost)
	pass := got.Silence > 0 && lost > 0
	switch {
	case lost == 0:
		note = fmt.Sprintf("no frame was lost in %v: was the device reset?", b.o.window)
	case lost > 1.5*got.Silence.Seconds()+1:
		pass, note = false, fmt.Sprintf("the device was not back within %v: %.3f s of frames lost", b.o.window, lost)
	}
	b.trial("reset", since, pass, note, result.ResetSeconds.Of(got.Silence.Seconds(), "by", "stamps"), result.ResetSeconds.Of(lost, "by", "counts"))
	return nil
}

// trigger resets the device once the stream has settled.
func (b *bench2544) trigger(ctx context.Context) error {
	if settle(ctx, time.Second) != nil {
		return nil // the stream says why
	}
	if b.o.hook == "" {
		fmt.Fprintf(b.c.err, "reset the device now: hardware, software or 10 s without power (RFC 2544 section 26.6); %v are watched\n", b.o.window)
		return nil
	}
	h := testnet.Host()
	defer h.Close()
	if out, err := h.Run(ctx, "sh", "-c", b.o.hook); err != nil && ctx.Err() == nil {
		return fmt.Errorf("--hook: %w: %s", err, out)
	}
	return nil
}
