package main

import (
	"context"
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
		Example: `  linerate mlr -i eth1 --in eth2 --via 198.18.1.1 --size 64 --preset ndr-pdr
  linerate mlr -i eth1 --dst 198.18.1.1 --size 64,1518 --loss-ratio 0.001 --sum 20s`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.usePreset(cmd); err != nil {
				return err
			}
			if _, err := o.list(); err != nil {
				return err
			}
			return testSizes(cmd, c, o.testerOptions, o.output, "mlrsearch", func(ctx context.Context, r *rig, sizes string, res *result.Result) error {
				return o.one(ctx, c, r, sizes, res)
			})
		},
	}
	o.testerOptions = addTester(cmd)
	f := cmd.Flags()
	f.StringVar(&o.goals, "goals", "", "ndr-pdr (trials of 1 s, sum of 20 s, exceed ratio 0.5) or rfc2544 (60 s, no loss), instead of the flags below")
	f.Float64SliceVar(&o.loss, "loss-ratio", []float64{0, 0.005}, "goal loss `RATIOS`")
	f.Float64Var(&o.exceed, "exceed-ratio", 0.5, "share of trials that may exceed the loss ratio")
	f.Float64Var(&o.width, "width", search.DefaultWidth, "relative distance of the bounds")
	f.DurationVar(&o.final, "final", time.Second, "final trial duration")
	f.DurationVar(&o.sum, "sum", 20*time.Second, "duration sum at a bound")
	f.DurationVar(&o.budget, "budget", 0, "spend at most so long in trials of one size")
	o.output = addOutput(cmd)
	return cmd
}

type mlrOptions struct {
	*testerOptions
	output             *output
	goals              string
	loss               []float64
	exceed, width      float64
	final, sum, budget time.Duration
}

func (o *mlrOptions) list() ([]search.Goal, error) {
	switch o.goals {
	case "ndr-pdr":
		return search.NDRPDR(), nil
	case "rfc2544":
		return []search.Goal{search.RFC2544()}, nil
	case "":
	default:
		return nil, usagef("--goals %s: want ndr-pdr or rfc2544", o.goals)
	}
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

// one searches with frames of one size. All attributes of every goal are part
// of the report (RFC 9971 section 4.8).
func (o *mlrOptions) one(ctx context.Context, c cli, r *rig, sizes string, res *result.Result) error {
	goals, err := o.list()
	if err != nil {
		return err
	}
	for _, g := range goals {
		res.Workload.Params["goal "+g.Name] = fmt.Sprintf("loss ratio %g, final trial %v, duration sum %v, exceed ratio %g, width %g relative", g.LossRatio, g.Final, g.Sum, g.ExceedRatio, max(g.Width, search.DefaultWidth))
	}
	m, err := newMeasurer(ctx, c, r, quickPhases(), res, sizes)
	if err != nil {
		return err
	}
	at := time.Since(res.Start)
	found, trials, err := search.MLR{Goals: goals, Max: search.FramesPerSecond(m.limit), Budget: o.budget}.Search(ctx, m)
	for _, g := range found {
		t := result.Trial{Name: g.Goal.Name, Params: map[string]string{"size": sizes, "goal": g.Goal.Name}, Start: at, Duration: time.Since(res.Start) - at, Pass: g.Regular, Note: g.Why,
			Values: []result.Value{result.ThroughputRate.Of(float64(g.Lower), "bound", "lower"), result.ThroughputRate.Of(float64(g.Upper), "bound", "upper"),
				result.ForwardingRate.Of(float64(g.Conditional)), result.FrameLimit.Of(r.lineLimit())}}
		if !g.Regular {
			t.Note = "irregular: " + g.Why
		}
		t.Note = fmt.Sprintf("%d trials. %s", len(trials), t.Note)
		res.Trials = append(res.Trials, t)
	}
	return err
}
