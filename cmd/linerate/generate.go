package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/workload/generator"
	"github.com/linerate/linerate/result"
)

func newGenerate(c cli) *cobra.Command {
	o := &generateOptions{}
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Send frames at a constant rate and count what comes back",
		Long: `generate sends test frames at an exact rate out of one interface and counts them at another, or at
the same with a reflector at the far end ('linerate serve reflect'): lost, duplicate, reordered and
corrupt frames are told apart, and latency is measured on stamped frames.`,
		Example: `  linerate generate -i eth1 --in eth2 --via 198.18.1.1 --size 64 --rate 500000
  linerate generate -i eth1 --dst 198.18.1.1 --line 1Gbit --imix --duration 10s
  linerate generate --port file -i frames.pcap --line 1Gbit --size 64,1518 --count 100     # look at them`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return testSizes(cmd, c, o.testerOptions, o.output, "frames", o.one)
		},
	}
	o.testerOptions = addTester(cmd)
	f := cmd.Flags()
	f.Float64Var(&o.rate, "rate", 0, "`FRAMES` per second (default: as fast as the line and the tester go)")
	f.DurationVar(&o.duration, "duration", 5*time.Second, "how long to send")
	f.Uint64Var(&o.count, "count", 0, "send exactly so many frames instead")
	f.IntVar(&o.burst, "burst", 0, "frames back to back, with pauses that keep the rate")
	o.output = addOutput(cmd)
	return cmd
}

type generateOptions struct {
	*testerOptions
	output   *output
	rate     float64
	duration time.Duration
	count    uint64
	burst    int
}

// one sends frames of one size.
func (o *generateOptions) one(ctx context.Context, r *rig, sizes string, res *result.Result) error {
	m := &measurer{rig: r, phases: quickPhases(), start: res.Start, sizes: sizes}
	line := r.lineLimit()
	rate := o.rate
	if rate == 0 {
		rate = line
	}
	if rate > line*1.0001 {
		return usagef("--rate %.0f: the line carries %.0f frame/s of this size", rate, line)
	}
	frames := o.count
	if frames == 0 {
		frames = uint64(max(1, rate*o.duration.Seconds()))
	}
	at := time.Since(res.Start)
	sent, got, err := m.offer(ctx, generator.Load{Frames: frames, Rate: rate, Burst: o.burst})
	if sent.Frames == 0 {
		return err
	}
	t := result.Trial{Name: "frames", Params: map[string]string{"size": sizes}, Start: at, Duration: sent.Duration, Pass: err == nil,
		Values: append(frameValues(sent, got), result.IntendedLoad.Of(rate), result.FrameLimit.Of(line))}
	t.Values = append(append(t.Values, lateValues(sent)...), latencyValues(got, 0)...)
	if sent.Slips > 0 {
		t.Note = fmt.Sprintf("the tester stalled %d times, %v in all", sent.Slips, sent.Slipped.Round(time.Microsecond))
	}
	if res.Trials = append(res.Trials, t); len(res.Trials) == 1 {
		res.Totals = t.Values
	} else {
		res.Totals = nil
	}
	return err
}
