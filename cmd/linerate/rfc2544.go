package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/result"
)

func newRFC2544(c cli) *cobra.Command {
	o := &rfc2544Options{}
	names := strings.Join(benchmarkNames(), "|") + "|all"
	cmd := &cobra.Command{
		Use:   "rfc2544 " + names,
		Short: "Benchmark a device by RFC 2544 and RFC 9004",
		Long: `rfc2544 finds a device's throughput (zero loss, 26.1), latency at that rate (26.2), frame loss rate over
load (26.3), back-to-back frames with the buffer time of RFC 9004 (26.4) and system recovery (26.5) for
each frame size; reset (26.6, RFC 6201) is a test of its own. Without --strict trials are short, and the
report lists every deviation from the RFC.`,
		Example: `  linerate rfc2544 throughput -i eth1 --in eth2 --via 198.18.1.1
  linerate rfc2544 all --strict -i eth1 --in eth2 --via 198.18.1.1 --out p1020.html
  linerate rfc2544 throughput --preset p1020 -i eth1 --in eth2 --via 198.18.1.1
  linerate rfc2544 reset -i eth1 --in eth2 --via 198.18.1.1 --size 64 --hook 'ssh root@198.18.1.1 reboot'`,
		Args: nArgs(names),
		RunE: func(cmd *cobra.Command, args []string) error { return runRFC2544(cmd, c, o, args[0]) },
	}
	o.testerOptions = addTester(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.strict, "strict", false, "trials of 60 s, latency of 120 s 20 times, 50 bursts, all waits of section 23: hours")
	f.DurationVar(&o.duration, "duration", 2*time.Second, "length of a deciding trial without --strict")
	f.Float64Var(&o.resolution, "resolution", 0.002, "share of the line rate within which a search ends")
	f.IntVar(&o.repeats, "verify", 0, "repeat a lossy trial so often before it counts (TST 009 loss verification)")
	f.StringVar(&o.baseline, "baseline", "", "subtract the latency in `FILE`: a result in JSON of a run over a cable in the device's place")
	f.StringVar(&o.hook, "hook", "", "`COMMAND` that resets the device (default: the operator does, when told)")
	f.DurationVar(&o.window, "window", 2*time.Minute, "how long to wait for the device after a reset")
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
	baseline   string
	hook       string
	window     time.Duration
}

// benchmarkNames are the tests in their order; all is those that need nobody.
func benchmarkNames() []string {
	return []string{"throughput", "latency", "loss", "b2b", "recovery", "reset"}
}

func runRFC2544(cmd *cobra.Command, c cli, o *rfc2544Options, what string) error {
	tests := []string{what}
	switch {
	case what == "all":
		tests = slices.DeleteFunc(benchmarkNames(), func(t string) bool { return t == "reset" })
	case !slices.Contains(benchmarkNames(), what):
		return usagef("rfc2544 %s: want %s or all", what, strings.Join(benchmarkNames(), ", "))
	}
	base, err := o.readBaseline(c)
	if err != nil {
		return err
	}
	return testSizes(cmd, c, o.testerOptions, o.output, "rfc2544."+what, func(ctx context.Context, r *rig, sizes string, res *result.Result) error {
		return o.one(ctx, c, r, sizes, res, tests, base)
	})
}

// one runs the tests for one frame size. Those after throughput need its
// result.
func (o *rfc2544Options) one(ctx context.Context, c cli, r *rig, sizes string, res *result.Result, tests []string, base baseline) error {
	p := quickPhases()
	if o.strict {
		p = strictPhases()
	}
	m, err := newMeasurer(ctx, c, r, p, res, sizes)
	if err != nil {
		return err
	}
	b := &bench2544{o: o, c: c, m: m, res: res, line: r.lineLimit(), baseline: base[sizes]}
	o.note(res, o.deviations(m.limit < b.line))
	if err := b.throughput(ctx); err != nil {
		return err
	}
	for _, t := range tests {
		run := map[string]func(context.Context) error{"latency": b.latency, "loss": b.loss, "b2b": b.backToBack, "recovery": b.recovery, "reset": b.reset}[t]
		if run == nil {
			continue
		}
		if err := run(ctx); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return nil
}

// baseline is the tester's own latency by frame size.
type baseline map[string]time.Duration

// readBaseline takes the median latencies out of a result.
func (o *rfc2544Options) readBaseline(c cli) (baseline, error) {
	if o.baseline == "" {
		return nil, nil
	}
	r, err := readResult(c, o.baseline)
	if err != nil {
		return nil, fmt.Errorf("--baseline: %w", err)
	}
	b := baseline{}
	for _, t := range r.Trials {
		if v, ok := result.Get(t.Values, result.FrameLatency, "quantile", "0.5"); ok {
			b[t.Params["size"]] = time.Duration(v * 1e9)
		}
	}
	if len(b) == 0 {
		return nil, usagef("--baseline %s: no latency in it; 'linerate rfc2544 latency --out FILE.json' over a cable makes one", o.baseline)
	}
	return b, nil
}
