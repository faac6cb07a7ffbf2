package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/search"
	"github.com/linerate/linerate/internal/workload/generator"
	"github.com/linerate/linerate/result"
)

func newRFC2544(c cli) *cobra.Command {
	o := &rfc2544Options{}
	cmd := &cobra.Command{
		Use:   "rfc2544 throughput|latency|loss|b2b|recovery|all",
		Short: "Benchmark a device by RFC 2544 and RFC 9004",
		Long: `rfc2544 finds a device's throughput (zero loss, 26.1), latency at that rate (26.2), frame loss rate over
load (26.3), back-to-back frames with the buffer time of RFC 9004 (26.4) and system recovery (26.5) for
each frame size. Without --strict trials are short, and the report lists every deviation from the RFC.`,
		Example: `  linerate rfc2544 throughput -i eth1 --in eth2 --via 198.18.1.1
  linerate rfc2544 all --strict -i eth1 --in eth2 --via 198.18.1.1 --out p1020.html
  linerate rfc2544 throughput --preset p1020 -i eth1 --in eth2 --via 198.18.1.1`,
		Args: nArgs("throughput|latency|loss|b2b|recovery|all"),
		RunE: func(cmd *cobra.Command, args []string) error { return runRFC2544(cmd, c, o, args[0]) },
	}
	o.testerOptions = addTester(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.strict, "strict", false, "trials of 60 s, latency of 120 s 20 times, 50 bursts, all waits of section 23: hours")
	f.DurationVar(&o.duration, "duration", 2*time.Second, "length of a deciding trial without --strict")
	f.Float64Var(&o.resolution, "resolution", 0.002, "share of the line rate within which a search ends")
	f.IntVar(&o.repeats, "verify", 0, "repeat a lossy trial so often before it counts (TST 009 loss verification)")
	f.StringVar(&o.preset, "preset", "", "p1020: the field report's 1,500-byte frames on Gigabit Ethernet, 1,024 flows")
	o.output = addOutput(cmd)
	return cmd
}

type rfc2544Options struct {
	*testerOptions
	output     *output
	strict     bool
	duration   time.Duration
	resolution float64
	repeats    int
	preset     string
}

// usePreset fills in a field report's set-up where the user said nothing else.
func (o *rfc2544Options) usePreset(cmd *cobra.Command) error {
	set := func(name, value string) error {
		if cmd.Flags().Changed(name) {
			return nil
		}
		return cmd.Flags().Set(name, value)
	}
	switch o.preset {
	case "":
		return nil
	case "p1020":
		return errors.Join(set("size", "1500"), set("flows", "1024"), set("line", "1Gbit"))
	}
	return usagef("--preset %s: want p1020", o.preset)
}

// deviations lists what a quick run leaves out of the RFC.
func (o *rfc2544Options) deviations() []string {
	d := []string{"latency is of software time stamps"}
	if o.strict {
		return d
	}
	return append(d, fmt.Sprintf("trials of %v instead of 60 s (section 24)", o.duration), "waits of section 23 shortened",
		"latency of one stream instead of 20 of 120 s (26.2)", "5 bursts instead of 50 (26.4)")
}

func runRFC2544(cmd *cobra.Command, c cli, o *rfc2544Options, what string) error {
	tests := map[string][]string{"all": {"throughput", "latency", "loss", "b2b", "recovery"}}[what]
	if tests == nil {
		if !strings.Contains("|throughput|latency|loss|b2b|recovery|", "|"+what+"|") {
			return usagef("rfc2544 %s: want throughput, latency, loss, b2b, recovery or all", what)
		}
		tests = []string{what}
	}
	if err := o.usePreset(cmd); err != nil {
		return err
	}
	if _, err := o.output.target(); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	ctx, start := cmd.Context(), time.Now()
	r := &result.Result{ID: result.NewID(start), Origin: result.Measured, Start: start, Ending: result.Completed,
		Workload: result.Workload{Kind: "rfc2544." + what, Params: o.params()}}
	r.Workload.Params["deviations"] = strings.Join(o.deviations(), "; ")
	r.Workload.Params["compliance"] = "quick"
	if o.strict {
		r.Workload.Params["compliance"] = "conditionally compliant"
	}
	var err error
	for _, sizes := range o.sizesInTurn() {
		if err = rfc2544Size(ctx, c, o, tests, sizes, r); err != nil {
			break
		}
	}
	r.Duration = time.Since(start)
	return o.output.deliver(c, r, endOf(ctx, r, err))
}

// rfc2544Size runs the tests for one frame size. Those after throughput need
// its result.
func rfc2544Size(ctx context.Context, c cli, o *rfc2544Options, tests []string, sizes []int, res *result.Result) (err error) {
	rig, err := openRig(ctx, o.testerOptions, sizes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rig.Close()) }()
	if res.Ends == nil {
		res.Ends = rig.ends()
	}
	p := quickPhases()
	if o.strict {
		p = strictPhases()
	}
	b := &bench2544{o: o, m: newMeasurer(c, rig, p, res, sizeName(sizes)), res: res, line: rig.lineLimit()}
	if b.m.limit, err = b.m.ownLimit(ctx); err != nil {
		return err
	}
	if b.m.limit < b.line {
		res.Gaps = append(res.Gaps, result.Gap{Source: sizeName(sizes) + "-byte frames",
			Reason: fmt.Sprintf("the tester offers at most %.0f of the line's %.0f frame/s", b.m.limit, b.line)})
	}
	if err := b.throughput(ctx); err != nil {
		return err
	}
	for _, t := range tests {
		run := map[string]func(context.Context) error{"latency": b.latency, "loss": b.loss, "b2b": b.backToBack, "recovery": b.recovery}[t]
		if run == nil {
			continue
		}
		if err := run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// newMeasurer returns a measurer whose trials become readings of res and lines
// of progress.
func newMeasurer(c cli, r *rig, p phases, res *result.Result, sizes string) *measurer {
	m := &measurer{rig: r, phases: p, start: res.Start, sizes: sizes, limit: r.lineLimit()}
	m.seen = func(t search.Trial, sent generator.Sent, got generator.Received) {
		res.Readings = append(res.Readings, m.reading(t, sent, got))
		fmt.Fprintf(c.err, "%s bytes: %.0f frame/s for %v: %d of %d lost\n", m.sizes, float64(t.Load), t.Duration, t.Counts.Lost(), t.Counts.Sent)
	}
	return m
}
