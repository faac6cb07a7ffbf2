package main

import (
	"context"
	"fmt"
	"math"
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
	seen   func(search.Trial, generator.Sent, generator.Received)
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
		m.seen(search.Trial{TrialInput: in, TrialOutput: out}, sent, got)
	}
	if offered := sent.Rate(); frames > 1 && offered < float64(in.Load)*(1-shortfall) {
		return out, fmt.Errorf("offered %.0f of %.0f frame/s: the tester fell behind: %w", offered, float64(in.Load), search.ErrInvalid)
	}
	return out, nil
}

// offer sends one load and counts what arrives, late frames too.
func (m *measurer) offer(ctx context.Context, l generator.Load) (generator.Sent, generator.Received, error) {
	if err := m.rig.sink.Reset(); err != nil {
		return generator.Sent{}, generator.Received{}, err
	}
	if err := settle(ctx, m.phases.settle); err != nil {
		return generator.Sent{}, generator.Received{}, err
	}
	sent, err := m.rig.sender.Send(ctx, l)
	if err != nil {
		return sent, generator.Received{}, err
	}
	if err := settle(ctx, m.phases.drain); err != nil {
		return sent, generator.Received{}, err
	}
	got, err := m.rig.sink.Counts()
	if err != nil {
		return sent, got, err
	}
	if got.Unique == 0 {
		return sent, got, fmt.Errorf("%d frames sent and none received: the link is down, or the device or reflector fell silent", sent.Frames)
	}
	return sent, got, settle(ctx, m.phases.rest)
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

func countsOf(s generator.Sent, r generator.Received) search.Counts {
	return search.Counts{Sent: s.Frames, Received: r.Unique + r.Duplicate, Unique: r.Unique, Duplicate: r.Duplicate,
		Reordered: r.Reordered, Corrupted: r.Corrupt, Foreign: r.Foreign}
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
// search asks for more.
func (m *measurer) ownLimit(ctx context.Context) (float64, error) {
	limit := m.rig.lineLimit()
	for range 5 {
		sent, err := m.rig.sender.Send(ctx, generator.Load{Frames: uint64(max(limit/4, 1000)), Rate: limit})
		if err != nil {
			return 0, err
		}
		if sent.Rate() >= limit*(1-shortfall) {
			break
		}
		limit = 0.95 * sent.Rate()
	}
	return limit, settle(ctx, m.phases.drain)
}

// reading makes a Reading of one trial, so that a report has them all.
func (m *measurer) reading(t search.Trial, sent generator.Sent, got generator.Received) result.Reading {
	return result.Reading{At: time.Since(m.start), Values: []result.Value{
		result.IntendedLoad.Of(float64(t.Load), "size", m.sizes), result.OfferedLoad.Of(sent.Rate(), "size", m.sizes),
		result.FrameLossRatio.Of(t.LossRatio, "size", m.sizes), result.DepartureLate.Of(sent.Late.Quantile(0.5)/1e9, "quantile", "0.5"),
		result.DepartureLate.Of(sent.Late.Quantile(0.99)/1e9, "quantile", "0.99"),
	}}
}

// frameValues are the counts of one trial as values.
func frameValues(sent generator.Sent, got generator.Received) []result.Value {
	c := countsOf(sent, got)
	return []result.Value{
		result.FramesSent.Of(float64(c.Sent)), result.FramesUnique.Of(float64(c.Unique)), result.FramesLost.Of(float64(c.Lost())),
		result.FramesDuplicate.Of(float64(c.Duplicate)), result.FramesReordered.Of(float64(c.Reordered)), result.FramesCorrupt.Of(float64(got.Corrupt)),
		result.ForeignFrames.Of(float64(got.Foreign)), result.OfferedLoad.Of(sent.Rate()),
	}
}

// latencyValues are the quantiles of the latency of stamped frames.
func latencyValues(h generator.Histogram) []result.Value {
	if h.N == 0 {
		return nil
	}
	var vs []result.Value
	for _, q := range []struct {
		name string
		q    float64
	}{{"0.5", 0.5}, {"0.9", 0.9}, {"0.99", 0.99}, {"0.999", 0.999}, {"1", 1}} {
		vs = append(vs, result.FrameLatency.Of(h.Quantile(q.q)/1e9, "quantile", q.name))
	}
	return vs
}
