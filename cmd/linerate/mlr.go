package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/search"
	"github.com/linerate/linerate/result"
)

func newMLR(c cli) *cobra.Command {
	o := &mlrOptions{}
	cmd := &cobra.Command{
		Use:   "mlr",
		Short: "Search for several loss goals at once (MLRsearch, RFC 9971)",
		Long: `mlr finds the non-drop rate and the partial drop rate (0.5 % loss) of a device, or RFC 2544 throughput
as a goal, in fewer trial-seconds than a binary search each. A figure whose bounds did not meet is
marked irregular, with the reason.`,
		Example: `  linerate mlr -i eth1 --in eth2 --via 198.18.1.1 --size 64
  linerate mlr -i eth1 --dst 198.18.1.1 --size 64,1518 --loss-ratio 0.001 --sum 20s`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runMLR(cmd.Context(), c, o) },
	}
	o.testerOptions = addTester(cmd)
	f := cmd.Flags()
	f.Float64SliceVar(&o.loss, "loss-ratio", []float64{0, 0.005}, "goal loss `RATIOS`")
	f.Float64Var(&o.exceed, "exceed-ratio", 0.5, "share of trials that may exceed the loss ratio")
	f.Float64Var(&o.width, "width", 0.005, "relative distance of the bounds")
	f.DurationVar(&o.final, "final", time.Second, "final trial duration")
	f.DurationVar(&o.sum, "sum", 20*time.Second, "duration sum at a bound")
	f.DurationVar(&o.budget, "budget", 0, "spend at most so long in trials of one size")
	o.output = addOutput(cmd)
	return cmd
}

type mlrOptions struct {
	*testerOptions
	output             *output
	loss               []float64
	exceed, width      float64
	final, sum, budget time.Duration
}

func (o *mlrOptions) goals() ([]search.Goal, error) {
	var gs []search.Goal
	for _, l := range o.loss {
		if l < 0 || l >= 1 || o.exceed < 0 || o.exceed >= 1 {
			return nil, usagef("--loss-ratio and --exceed-ratio: want 0 to below 1")
		}
		name := "NDR"
		if l > 0 {
			name = fmt.Sprintf("PDR %g %%", 100*l)
		}
		gs = append(gs, search.Goal{Name: name, Final: o.final, Sum: o.sum, LossRatio: l, ExceedRatio: o.exceed, Width: o.width, InitialTrial: min(o.final, time.Second)})
	}
	return gs, nil
}

func runMLR(ctx context.Context, c cli, o *mlrOptions) error {
	if _, err := o.output.target(); err != nil {
		return err
	}
	goals, err := o.goals()
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	start := time.Now()
	r := &result.Result{ID: result.NewID(start), Origin: result.Measured, Start: start, Ending: result.Completed,
		Workload: result.Workload{Kind: "mlrsearch", Params: o.params()}}
	for k, v := range map[string]any{"final": o.final, "sum": o.sum, "exceed": o.exceed, "width": o.width} {
		r.Workload.Params[k] = fmt.Sprint(v)
	}
	for _, sizes := range o.sizesInTurn() {
		if err = mlrOne(ctx, c, o, goals, sizes, r); err != nil {
			break
		}
	}
	r.Duration = time.Since(start)
	return o.output.deliver(c, r, endOf(ctx, r, err))
}

func mlrOne(ctx context.Context, c cli, o *mlrOptions, goals []search.Goal, sizes []int, res *result.Result) (err error) {
	rig, err := openRig(ctx, o.testerOptions, sizes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rig.Close()) }()
	if res.Ends == nil {
		res.Ends = rig.ends()
	}
	m := newMeasurer(c, rig, quickPhases(), res, sizeName(sizes))
	limit, err := m.ownLimit(ctx)
	if err != nil {
		return err
	}
	at := time.Since(res.Start)
	found, trials, err := search.MLR{Goals: goals, Max: search.FramesPerSecond(limit), Budget: o.budget}.Search(ctx, m)
	for _, g := range found {
		t := result.Trial{Name: g.Goal.Name, Params: map[string]string{"size": m.sizes, "goal": g.Goal.Name}, Start: at, Duration: time.Since(res.Start) - at, Pass: g.Regular, Note: g.Why,
			Values: []result.Value{result.ThroughputRate.Of(float64(g.Lower), "bound", "lower"), result.ThroughputRate.Of(float64(g.Upper), "bound", "upper"),
				result.ForwardingRate.Of(float64(g.Conditional)), result.FrameLimit.Of(rig.lineLimit())}}
		if !g.Regular {
			t.Note = "irregular: " + g.Why
		}
		t.Note = fmt.Sprintf("%d trials. %s", len(trials), t.Note)
		res.Trials = append(res.Trials, t)
	}
	return err
}
