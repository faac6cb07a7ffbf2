package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/linerate/linerate/internal/search"
	"github.com/linerate/linerate/result"
)

// bench2544 runs the tests of section 26 for one frame size.
type bench2544 struct {
	o        *rfc2544Options
	c        cli
	m        *measurer
	res      *result.Result
	line     float64       // frames per second
	baseline time.Duration // the tester's own latency, 0 where it is not known
	found    search.Outcome
}

// trial adds a row to the result.
func (b *bench2544) trial(test string, since time.Time, pass bool, note string, vs ...result.Value) {
	b.res.Trials = append(b.res.Trials, result.Trial{Name: test, Params: map[string]string{"test": test, "size": b.m.sizes},
		Start: since.Sub(b.res.Start), Duration: time.Since(since), Pass: pass, Note: note, Values: vs})
}

// throughput is section 26.1. The loads above what the tester offers are not
// tried, and the result says so.
func (b *bench2544) throughput(ctx context.Context) (err error) {
	since := time.Now()
	s := search.Throughput{Max: search.FramesPerSecond(b.m.limit), Min: 1, Resolution: b.o.resolution, Duration: b.o.length(),
		Short: min(b.o.length(), 5*time.Second), Repeats: b.o.repeats, RepeatLoss: 0.001}
	b.found, err = s.Search(ctx, b.m)
	rate := float64(b.found.Load)
	note := ""
	switch {
	case err != nil && rate == 0:
		return err
	case err != nil:
		note = "incomplete: the search ended early, the device may do more"
	case rate >= b.m.limit && b.m.limit < b.line:
		note = "at the tester's own limit: the device may do more"
	case rate == 0:
		note = "no load tried came through without loss"
	}
	b.trial("throughput", since, err == nil && rate > 0, note, result.ThroughputRate.Of(rate), result.FrameLimit.Of(b.line), result.Goodput.Of(rate*8*b.payload()))
	return err
}

// payload is the mean UDP payload of a frame in bytes.
func (b *bench2544) payload() float64 {
	p := b.m.rig.profile()
	sum := 0
	for _, n := range p.Sizes {
		sum += n - p.Overhead()
	}
	return float64(sum) / float64(len(p.Sizes))
}

// loss is section 26.3.
func (b *bench2544) loss(ctx context.Context) error {
	since := time.Now()
	trials, err := search.FrameLossRate(ctx, b.m, search.FramesPerSecond(b.m.limit), 0.1, b.o.length(), nil)
	for _, t := range trials {
		b.res.Trials = append(b.res.Trials, result.Trial{Name: "loss", Start: since.Sub(b.res.Start), Duration: t.Duration, Pass: t.LossRatio == 0,
			Params: map[string]string{"test": "loss", "size": b.m.sizes, "load %": strconv.FormatFloat(100*float64(t.Load)/b.line, 'f', 1, 64)},
			Values: []result.Value{result.FrameLossRatio.Of(t.LossRatio), result.IntendedLoad.Of(float64(t.Load)), result.FrameLimit.Of(b.line)}})
	}
	return err
}

// backToBack is section 26.4 as updated by RFC 9004.
func (b *bench2544) backToBack(ctx context.Context) error {
	since := time.Now()
	s := search.BackToBack{Rate: search.FramesPerSecond(b.m.limit), Throughput: b.found.Load, Limit: 2 * time.Second, Tests: quickBursts, Repeats: b.o.repeats}
	s.Step = max(1, uint64(b.m.limit/500))
	if b.o.strict {
		s.Tests, s.Limit, s.Step = 50, 30*time.Second, 1
	}
	got, err := s.Search(ctx, b.m)
	switch {
	case errors.Is(err, search.ErrNotApplicable), errors.Is(err, search.ErrBurstLimit):
		b.trial("b2b", since, false, err.Error())
		return nil
	case err != nil:
		return err
	}
	b.trial("b2b", since, true, fmt.Sprintf("%d searches within %d frames: %.0f to %.0f, deviation %.0f", len(got.Frames), s.Step, got.Min, got.Max, got.Dev),
		result.BackToBackFrames.Of(got.Average), result.ImpliedBuffer.Of(got.Implied.Seconds()), result.BufferSeconds.Of(got.Corrected.Seconds()))
	return nil
}
