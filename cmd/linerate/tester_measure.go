package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/linerate/linerate/internal/search"
	"github.com/linerate/linerate/internal/workload/generator"
	"github.com/linerate/linerate/result"
)

// phases are the waits around a trial (RFC 2544 section 23).
type phases struct {
	settle, drain, rest time.Duration // before, for late frames, after
}

func strictPhases() phases { return phases{2 * time.Second, 2 * time.Second, 5 * time.Second} }
func quickPhases() phases  { return phases{0, 500 * time.Millisecond, 0} }

// measurer performs trials on a rig.
type measurer struct {
	rig    *rig
	phases phases
	start  time.Time
	sizes  string // of the frames, for labels
	limit  float64
	watch  bool // have the receiver note arrival times
	seen   func(search.Trial, generator.Sent)
}

// newMeasurer returns a measurer whose trials become readings of res and lines
// of progress. It has measured the tester's own limit, which the result tells.
func newMeasurer(ctx context.Context, c cli, r *rig, p phases, res *result.Result, sizes string) (*measurer, error) {
	m := &measurer{rig: r, phases: p, start: res.Start, sizes: sizes}
	m.seen = func(t search.Trial, sent generator.Sent) {
		res.Readings = append(res.Readings, m.reading(t, sent))
		fmt.Fprintf(c.err, "%s bytes: %.0f frame/s for %v: %d of %d lost\n", m.sizes, float64(t.Load), t.Duration, t.Counts.Lost(), t.Counts.Sent)
	}
	var err error
	if m.limit, err = m.ownLimit(ctx); err != nil {
		return nil, err
	}
	if line := r.lineLimit(); m.limit < line {
		res.Gaps = append(res.Gaps, result.Gap{Source: sizes + "-byte frames",
			Reason: fmt.Sprintf("the tester offers at most %.0f of the line's %.0f frame/s", m.limit, line)})
	}
	return m, nil
}

// shortfall is the share by which the offered load may be below the intended
// one before the trial is the tester's failure.
const shortfall = 0.005

// Measure performs one trial: frames at a constant rate, then a wait for late
// ones. A sender that fell behind makes the trial invalid.
func (m *measurer) Measure(ctx context.Context, in search.TrialInput) (search.TrialOutput, error) {
	frames := uint64(math.Round(float64(in.Load) * in.Duration.Seconds()))
	if frames == 0 {
		return search.TrialOutput{}, fmt.Errorf("%.1f frame/s for %v is not one frame", float64(in.Load), in.Duration)
	}
	sent, got, err := m.offer(ctx, generator.Load{Frames: frames, Rate: float64(in.Load)})
	if err != nil {
		return search.TrialOutput{}, err
	}
	c := countsOf(sent, got)
	out := c.Output(in)
	if m.seen != nil {
		m.seen(search.Trial{TrialInput: in, TrialOutput: out}, sent)
	}
	if offered := sent.Rate() / float64(len(m.rig.directions)); frames > 1 && offered < float64(in.Load)*(1-shortfall) {
		return out, fmt.Errorf("offered %.0f of %.0f frame/s: the tester fell behind: %w", offered, float64(in.Load), search.ErrInvalid)
	}
	return out, nil
}

// offer sends one load in every direction and counts what arrives, late frames
// too. An interrupt cuts it short: what was sent until then is counted and
// returned with the cause.
func (m *measurer) offer(ctx context.Context, l generator.Load) (sent generator.Sent, got generator.Received, err error) {
	for _, d := range m.rig.directions {
		if err := d.sink.Reset(); err != nil {
			return sent, got, err
		}
		if l.StepAfter > 0 || m.watch {
			if err := d.sink.Watch(l.StepAfter / uint64(d.profile.Flows)); err != nil {
				return sent, got, err
			}
		}
	}
	if err := settle(ctx, m.phases.settle); err != nil {
		return sent, got, err
	}
	sent, err = m.send(ctx, l)
	if err != nil && !(ctx.Err() != nil && sent.Frames > 0) {
		return sent, got, err
	}
	// Late frames are waited for after an interrupt too, else they look lost.
	err = errors.Join(err, settle(context.WithoutCancel(ctx), m.phases.drain))
	for _, d := range m.rig.directions {
		r, lookup := d.sink.Counts()
		got.Merge(r)
		err = errors.Join(err, lookup)
	}
	if err == nil && got.Unique == 0 && sent.Frames > 0 {
		err = m.rig.alive(ctx)
	}
	if err != nil {
		return sent, got, err
	}
	return sent, got, settle(ctx, m.phases.rest)
}

// send sends in all directions at the same time.
func (m *measurer) send(ctx context.Context, l generator.Load) (generator.Sent, error) {
	if len(m.rig.directions) == 1 {
		return m.rig.directions[0].sender.Send(ctx, l)
	}
	sents, errs := make([]generator.Sent, len(m.rig.directions)), make([]error, len(m.rig.directions))
	var wg sync.WaitGroup
	for i, d := range m.rig.directions {
		wg.Go(func() { sents[i], errs[i] = d.sender.Send(ctx, l) })
	}
	wg.Wait()
	all := sents[0]
	for _, s := range sents[1:] {
		all.Merge(s)
	}
	return all, errors.Join(errs...)
}

// Burst sends frames back to back, for the search of RFC 9004.
func (m *measurer) Burst(ctx context.Context, frames uint64) (uint64, error) {
	sent, got, err := m.offer(ctx, generator.Load{Frames: frames, Rate: m.limit})
	if err != nil {
		return 0, err
	}
	c := countsOf(sent, got)
	if err := c.Check(); err != nil {
		return 0, err
	}
	return c.Lost(), nil
}

func settle(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ownLimit measures what the tester itself can offer and keep up, so that no
// search asks for more. It is of one direction. Each rate is tried twice: a
// stall of this machine is not the tester's limit.
func (m *measurer) ownLimit(ctx context.Context) (float64, error) {
	limit, best := m.rig.lineLimit(), 0.0
	for try := range 8 {
		sent, err := m.send(ctx, generator.Load{Frames: uint64(max(limit/4, 1000)), Rate: limit})
		if err != nil {
			return 0, err
		}
		each := sent.Rate() / float64(len(m.rig.directions))
		if best = max(best, each); each >= limit*(1-shortfall) {
			break
		}
		if try%2 == 1 {
			limit, best = 0.95*best, 0
		}
	}
	return limit, settle(ctx, m.phases.drain)
}
