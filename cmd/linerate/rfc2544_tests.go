package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/linerate/linerate/internal/search"
	"github.com/linerate/linerate/internal/workload/generator"
	"github.com/linerate/linerate/result"
)

// bench2544 runs the tests of section 26 for one frame size.
type bench2544 struct {
	o     *rfc2544Options
	m     *measurer
	res   *result.Result
	line  float64 // frames per second
	found search.Outcome
}

// trial adds a row to the result.
func (b *bench2544) trial(test string, since time.Time, pass bool, note string, vs ...result.Value) {
	b.res.Trials = append(b.res.Trials, result.Trial{Name: test, Params: map[string]string{"test": test, "size": b.m.sizes},
		Start: since.Sub(b.res.Start), Duration: time.Since(since), Pass: pass, Note: note, Values: vs})
}

func (b *bench2544) duration() time.Duration {
	if b.o.strict {
		return 60 * time.Second
	}
	return b.o.duration
}

// throughput is section 26.1. The loads above what the tester offers are not
// tried, and the result says so.
func (b *bench2544) throughput(ctx context.Context) (err error) {
	since := time.Now()
	s := search.Throughput{Max: search.FramesPerSecond(b.m.limit), Min: 1, Resolution: b.o.resolution, Duration: b.duration(),
		Short: min(b.duration(), 5*time.Second), Repeats: b.o.repeats, RepeatLoss: 0.001}
	if b.found, err = s.Search(ctx, b.m); err != nil {
		return err
	}
	rate := float64(b.found.Load)
	note := ""
	if rate >= b.m.limit && b.m.limit < b.line {
		note = "at the tester's own limit: the device may do more"
	}
	b.trial("throughput", since, rate > 0, note, result.ThroughputRate.Of(rate), result.FrameLimit.Of(b.line), result.Goodput.Of(rate*8*b.payload()))
	return nil
}

// payload is the mean UDP payload of a frame in bytes.
func (b *bench2544) payload() float64 {
	p := b.m.rig.profile
	sum := 0
	for _, n := range p.Sizes {
		sum += n - p.Overhead()
	}
	return float64(sum) / float64(len(p.Sizes))
}

// latency is section 26.2: at the throughput of this size, a frame tagged in
// the middle of each stream; ours stamps many and reports the quantiles.
func (b *bench2544) latency(ctx context.Context) error {
	if b.found.Load == 0 {
		return nil
	}
	since := time.Now()
	streams, length := 1, b.duration()
	if b.o.strict {
		streams, length = 20, 120*time.Second
	}
	var all generator.Histogram
	for range streams {
		_, got, err := b.m.offer(ctx, generator.Load{Frames: uint64(float64(b.found.Load) * length.Seconds()), Rate: float64(b.found.Load)})
		if err != nil {
			return err
		}
		all.Merge(&got.Latency)
	}
	b.trial("latency", since, all.N > 0, fmt.Sprintf("at %.0f frame/s, %d frames stamped", float64(b.found.Load), all.N), latencyValues(all)...)
	return nil
}

// loss is section 26.3.
func (b *bench2544) loss(ctx context.Context) error {
	since := time.Now()
	trials, err := search.FrameLossRate(ctx, b.m, search.FramesPerSecond(b.m.limit), 0.1, b.duration(), nil)
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
	s := search.BackToBack{Rate: search.FramesPerSecond(b.m.limit), Throughput: b.found.Load, Limit: 2 * time.Second, Tests: 5, Repeats: b.o.repeats}
	if b.o.strict {
		s.Tests, s.Limit = 50, 30*time.Second
	}
	s.Step = max(1, uint64(b.m.limit*s.Limit.Seconds()/10000))
	got, err := s.Search(ctx, b.m)
	switch {
	case errors.Is(err, search.ErrNotApplicable), errors.Is(err, search.ErrBurstLimit):
		b.trial("b2b", since, false, err.Error())
		return nil
	case err != nil:
		return err
	}
	b.trial("b2b", since, true, fmt.Sprintf("%d searches within %d frames: %.0f to %.0f, deviation %.0f", len(got.Frames), s.Step, got.Min, got.Max, got.Dev),
		result.BackToBackFrames.Of(got.Average), result.BufferSeconds.Of(got.Corrected.Seconds()))
	return nil
}

// recovery is section 26.5: overload, then half the rate, and the time until
// the last frame lost. Ours counts the losses at half rate: so many frame
// times after the drop was the last.
func (b *bench2544) recovery(ctx context.Context) error {
	over := min(1.1*float64(b.found.Load), b.m.limit)
	if b.found.Load == 0 || over <= float64(b.found.Load) {
		b.trial("recovery", time.Now(), false, "not applicable: the tester cannot overload the device")
		return nil
	}
	since := time.Now()
	d := b.duration()
	p := b.m.phases
	b.m.phases = phases{}
	_, _, err := b.m.offer(ctx, generator.Load{Frames: uint64(over * d.Seconds()), Rate: over})
	b.m.phases = phases{drain: p.drain, rest: p.rest}
	if err != nil {
		b.m.phases = p
		return err
	}
	half := over / 2
	sent, got, err := b.m.offer(ctx, generator.Load{Frames: uint64(half * d.Seconds()), Rate: half})
	b.m.phases = p
	if err != nil {
		return err
	}
	lost := countsOf(sent, got).Lost()
	b.trial("recovery", since, true, fmt.Sprintf("%d frames lost after the drop to %.0f frame/s", lost, half), result.RecoverySeconds.Of(float64(lost)/half), result.FramesLost.Of(float64(lost)))
	return nil
}
