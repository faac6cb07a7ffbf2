package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/workload/generator"
	"github.com/linerate/linerate/result"
)

// latency is section 26.2: at the throughput of this size, frames tagged in the
// middle of each stream, by the NIC's stamps where it has them. Besides, every
// 64th frame of the stream is stamped in software, for the quantiles.
func (b *bench2544) latency(ctx context.Context) error {
	if b.found.Load == 0 {
		b.trial("latency", time.Now(), false, "not applicable: there is no throughput to measure it at")
		return nil
	}
	since := time.Now()
	streams, length, tags := 1, b.o.length(), 20
	if b.o.strict {
		streams, length, tags = 20, 2*time.Minute, 1
	}
	var all generator.Received
	var single []time.Duration
	stamps := ""
	for range streams {
		t, how, err := b.tagged()
		if err != nil {
			b.res.Gaps = append(b.res.Gaps, result.Gap{Source: "tagged frames", Reason: err.Error()})
		}
		stamps = how
		wait := t.start(ctx, tags, length/time.Duration(tags+1))
		_, got, err := b.m.offer(ctx, generator.Load{Frames: uint64(float64(b.found.Load) * length.Seconds()), Rate: float64(b.found.Load)})
		ds, tagErr := wait()
		if err := errors.Join(err, tagErr); err != nil {
			return err
		}
		all.Merge(got)
		single = append(single, ds...)
	}
	vs := latencyValues(all, b.baseline)
	note := fmt.Sprintf("at %.0f frame/s, %d frames stamped in software at both drivers, from before the first bit to after the last: the latency of RFC 1242 3.8 and the frame's own time; ", float64(b.found.Load), all.Latency.N)
	if b.baseline > 0 {
		note += fmt.Sprintf("the tester's own %v subtracted", b.baseline)
	} else {
		note += "the tester's own latency is in it (--baseline subtracts it)"
	}
	if len(single) > 0 {
		var sum time.Duration
		for _, d := range single {
			sum += d
		}
		mean := sum / time.Duration(len(single))
		vs = append(vs, result.FrameLatency.Of(mean.Seconds(), "stamps", stamps))
		note += fmt.Sprintf("; mean of %d tagged frames by %s stamps %v", len(single), stamps, mean)
	}
	b.trial("latency", since, all.Latency.N > 0, note, vs...)
	return nil
}

// tagging is a pair of Ports with time stamps.
type tagging struct {
	generator.Tagged
	in port.Stamped
}

// tagged opens them: with the NICs' stamps where both are of one clock, else
// with the kernel's. The stamps are named.
func (b *bench2544) tagged() (t *tagging, stamps string, err error) {
	d := b.m.rig.directions[0]
	if wayNamed(b.o.port) != nil && wayNamed(b.o.port).virtual {
		return nil, "", nil
	}
	from, err1 := port.StampingOf(d.from)
	to, err2 := port.StampingOf(d.to)
	hardware := err1 == nil && err2 == nil && from.Hardware && to.Hardware && from.Clock == to.Clock
	stamps = map[bool]string{true: "hardware", false: "software"}[hardware]
	out, err := port.OpenStamped(d.from, hardware)
	if err != nil {
		return nil, stamps, err
	}
	in, err := port.OpenStamped(d.to, hardware)
	if err != nil {
		return nil, stamps, errors.Join(err, out.Close())
	}
	return &tagging{generator.Tagged{Out: out, In: in, Profile: d.profile}, in}, stamps, nil
}

// start measures beside a stream; wait returns what was measured.
func (t *tagging) start(ctx context.Context, n int, pause time.Duration) (wait func() ([]time.Duration, error)) {
	if t == nil {
		return func() ([]time.Duration, error) { return nil, nil }
	}
	var ds []time.Duration
	done := make(chan error, 1)
	go func() {
		var err error
		ds, err = t.Measure(ctx, n, pause)
		done <- errors.Join(err, t.Out.Close(), t.in.Close())
	}()
	return func() ([]time.Duration, error) { err := <-done; return ds, err }
}
