package main

import (
	"context"
	"errors"
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
  linerate generate -i eth1 --dst 198.18.1.1 --line 1Gbit --imix --duration 10s`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runGenerate(cmd.Context(), c, o) },
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

func runGenerate(ctx context.Context, c cli, o *generateOptions) error {
	if _, err := o.output.target(); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	start := time.Now()
	r := &result.Result{ID: result.NewID(start), Origin: result.Measured, Start: start, Ending: result.Completed,
		Workload: result.Workload{Kind: "frames", Params: o.params()}}
	var err error
	for _, sizes := range o.sizesInTurn() {
		var t result.Trial
		t, err = generateOne(ctx, o, sizes, r)
		if len(t.Values) > 0 {
			r.Trials = append(r.Trials, t)
		}
		if err != nil {
			break
		}
	}
	r.Duration = time.Since(start)
	if len(r.Trials) == 1 {
		r.Totals = r.Trials[0].Values
	}
	err = endOf(ctx, r, err)
	return o.output.deliver(c, r, err)
}

// params are what repeats the run.
func (o *testerOptions) params() map[string]string {
	return map[string]string{"out": o.out, "in": o.in, "src": o.src, "dst": o.dst, "flows": fmt.Sprint(o.flows), "hosts": fmt.Sprint(o.hosts),
		"line": result.FormatBits(o.lineRate)}
}

// endOf notes how a run ended; an interrupt is no error.
func endOf(ctx context.Context, r *result.Result, err error) error {
	switch {
	case err == nil:
	case ctx.Err() != nil:
		r.Ending, r.Error = result.Interrupted, err.Error()
		return nil
	default:
		r.Ending, r.Error = result.Failed, err.Error()
	}
	return err
}

func sizeName(sizes []int) string {
	if len(sizes) > 1 {
		return "imix"
	}
	return fmt.Sprint(sizes[0])
}

func generateOne(ctx context.Context, o *generateOptions, sizes []int, res *result.Result) (t result.Trial, err error) {
	rig, err := openRig(ctx, o.testerOptions, sizes)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, rig.Close()) }()
	if res.Ends == nil {
		res.Ends = rig.ends()
	}
	m := &measurer{rig: rig, phases: quickPhases(), start: res.Start, sizes: sizeName(sizes)}
	line := rig.lineLimit()
	rate := o.rate
	if rate == 0 {
		rate = line
	}
	if rate > line*1.0001 {
		return t, usagef("--rate %.0f: the line carries %.0f frame/s of this size", rate, line)
	}
	frames := o.count
	if frames == 0 {
		frames = uint64(max(1, rate*o.duration.Seconds()))
	}
	at := time.Since(res.Start)
	sent, got, err := m.offer(ctx, generator.Load{Frames: frames, Rate: rate, Burst: o.burst})
	if sent.Frames == 0 {
		return t, err
	}
	t = result.Trial{Name: "frames", Params: map[string]string{"size": m.sizes}, Start: at, Duration: sent.Duration, Pass: err == nil,
		Values: append(frameValues(sent, got), result.IntendedLoad.Of(rate), result.FrameLimit.Of(line),
			result.DepartureLate.Of(sent.Late.Quantile(0.5)/1e9, "quantile", "0.5"), result.DepartureLate.Of(sent.Late.Quantile(0.99)/1e9, "quantile", "0.99"))}
	t.Values = append(t.Values, latencyValues(got.Latency)...)
	if sent.Slips > 0 {
		t.Note = fmt.Sprintf("the tester stalled %d times, %v in all", sent.Slips, sent.Slipped.Round(time.Microsecond))
	}
	return t, err
}
