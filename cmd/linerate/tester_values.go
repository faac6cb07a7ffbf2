package main

import (
	"time"

	"github.com/linerate/linerate/internal/search"
	"github.com/linerate/linerate/internal/workload/generator"
	"github.com/linerate/linerate/result"
)

func countsOf(s generator.Sent, r generator.Received) search.Counts {
	return search.Counts{Sent: s.Frames, Received: r.Unique + r.Duplicate, Unique: r.Unique, Duplicate: r.Duplicate,
		Reordered: r.Reordered, Corrupted: r.Corrupt, Foreign: r.Foreign}
}

// reading makes a Reading of one trial, so that a report has them all.
func (m *measurer) reading(t search.Trial, sent generator.Sent) result.Reading {
	return result.Reading{At: time.Since(m.start), Values: append([]result.Value{
		result.IntendedLoad.Of(float64(t.Load), "size", m.sizes), result.OfferedLoad.Of(sent.Rate(), "size", m.sizes),
		result.FrameLossRatio.Of(t.LossRatio, "size", m.sizes)}, lateValues(sent)...)}
}

// lateValues are quantiles of the lateness of departures.
func lateValues(s generator.Sent) []result.Value {
	if s.Late.N == 0 {
		return nil
	}
	return []result.Value{result.DepartureLate.Of(s.Late.Quantile(0.5)/1e9, "quantile", "0.5"), result.DepartureLate.Of(s.Late.Quantile(0.99)/1e9, "quantile", "0.99")}
}

// frameValues are the counts of one trial as values.
func frameValues(sent generator.Sent, got generator.Received) []result.Value {
	c := countsOf(sent, got)
	return []result.Value{
		result.FrameLossRatio.Of(c.Output(search.TrialInput{}).LossRatio),
		result.FramesSent.Of(float64(c.Sent)), result.FramesUnique.Of(float64(c.Unique)), result.FramesLost.Of(float64(c.Lost())),
		result.FramesDuplicate.Of(float64(c.Duplicate)), result.FramesReordered.Of(float64(c.Reordered)), result.FramesCorrupt.Of(float64(got.Corrupt)),
		result.ForeignFrames.Of(float64(got.Foreign)), result.OfferedLoad.Of(sent.Rate()),
	}
}

// latencyValues are the quantiles of the latency of stamped frames, less what
// the tester itself takes, and the jitter.
func latencyValues(got generator.Received, baseline time.Duration) []result.Value {
	h := got.Latency
	if h.N == 0 {
		return nil
	}
	var vs []result.Value
	for _, q := range []struct {
		name string
		q    float64
	}{{"0.5", 0.5}, {"0.9", 0.9}, {"0.99", 0.99}, {"0.999", 0.999}, {"1", 1}} {
		vs = append(vs, result.FrameLatency.Of(max(0, h.Quantile(q.q)/1e9-baseline.Seconds()), "quantile", q.name))
	}
	if got.Jitter > 0 {
		vs = append(vs, result.FrameJitter.Of(got.Jitter.Seconds()))
	}
	return vs
}
