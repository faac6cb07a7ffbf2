package search

import (
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// dut is a simulated device with known behaviour. Every trial counts frames as
// a real one does.
type dut struct {
	cap    FramesPerSecond                    // forwards no more
	noise  float64                            // probability that a trial loses a few frames anyway
	drop   func(load FramesPerSecond) float64 // extra loss ratio; may be nil
	buffer float64                            // frames it can hold
	rnd    *rand.Rand
	spent  time.Duration
	trials int
}

func newDUT(capacity FramesPerSecond) *dut {
	return &dut{cap: capacity, rnd: rand.New(rand.NewPCG(1, 2))}
}

func (d *dut) Measure(_ context.Context, in TrialInput) (TrialOutput, error) {
	d.spent += in.Duration
	d.trials++
	sent := math.Round(float64(in.Load) * in.Duration.Seconds())
	passed := math.Floor(float64(d.cap)*in.Duration.Seconds() + d.buffer)
	lost := max(0, sent-passed)
	if d.drop != nil {
		lost = max(lost, math.Round(sent*d.drop(in.Load)))
	}
	if d.rnd.Float64() < d.noise {
		lost = max(lost, 1+float64(d.rnd.IntN(20)))
	}
	lost = min(lost, sent)
	c := Counts{Sent: uint64(sent), Unique: uint64(sent - lost), Received: uint64(sent - lost)}
	return c.Output(in), nil
}

func (d *dut) Burst(_ context.Context, frames uint64) (uint64, error) {
	// While a burst arrives at the line's rate the device drains it at its own.
	held := float64(frames) * (1 - float64(d.cap)/lineRate)
	return uint64(max(0, math.Ceil(held-d.buffer))), nil
}

const lineRate = 1488095 // 64-byte frames on 1 Gbit/s
