package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/linerate/linerate/internal/explain"
	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/result"
)

// climb is a ladder being climbed.
type climb struct {
	rig   *ladderRig
	o     ladderOptions
	steps []ladderStep
	show  *ladderView
	r     *result.Result
}

func newClimb(rig *ladderRig, o ladderOptions, show *ladderView) *climb {
	start := time.Now()
	c := &climb{rig: rig, o: o, steps: o.steps(), show: show, r: &result.Result{
		Schema: result.SchemaID, ID: result.NewID(start), Origin: result.Measured, Start: start, Ending: result.Completed,
		Workload: result.Workload{Kind: "ftp.ladder", Params: o.params()},
		Ends:     []result.End{ladderEnd("client", rig.client), ladderEnd("server", rig.server)},
	}}
	if rig.link == nil {
		c.steps = slices.DeleteFunc(c.steps, func(s ladderStep) bool { return s.offload == testnet.OffloadAll })
		c.gap("network namespaces", rig.why+"; over loopback frames are up to 64 KiB, offloads are on throughout and frames/s are segments/s")
	}
	if rig.rate > 0 {
		c.gap("CPU of server and client alone", "the timers that shape the link run on the same cores and are charged to whom they interrupt, mostly the sender")
	}
	if rig.host == nil {
		c.gap("meters", "CPU and TCP counters are read on Linux only, so steps show goodput and no bound")
	}
	return c
}

func (c *climb) gap(source, reason string) {
	c.r.Gaps = append(c.r.Gaps, result.Gap{Source: source, Reason: reason})
}

// steps are those of the stack that serves.
func (o ladderOptions) steps() []ladderStep {
	if o.user {
		return userLadderSteps()
	}
	return ladderSteps()
}

// params are what repeats the run.
func (o ladderOptions) params() map[string]string {
	p := map[string]string{"repeat": strconv.Itoa(o.repeat), "time": o.watch.String(), "warm-up": o.warm.String(), "loopback": strconv.FormatBool(o.loopback)}
	if o.user {
		p["stack"] = "user"
	}
	if o.rate > 0 {
		p["rate"] = result.FormatBits(o.rate)
	}
	return p
}

// ladderEnd describes an end with the settings that decide most and that no
// step changes.
func ladderEnd(role string, n *testnet.Namespace) result.End {
	name, err := os.Hostname()
	if err != nil {
		name = "this host"
	}
	e := result.End{Role: role, Host: name, Settings: map[string]string{},
		Facts: map[string]string{"os": runtime.GOOS + "/" + runtime.GOARCH, "cores": strconv.Itoa(runtime.NumCPU()), "network": n.Name}}
	for _, s := range []string{"net.ipv4.tcp_congestion_control", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"} {
		if v, err := n.Sysctl(s); err == nil {
			e.Settings["sysctl."+s] = v
		}
	}
	return e
}

// run climbs until the top, an error or the end of ctx.
func (c *climb) run(ctx context.Context) error {
	c.show.begin(c)
	for i, step := range c.steps {
		err := c.step(ctx, i, step)
		c.show.step(i, step, c.views(step.name))
		if err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, step.name, err)
		}
	}
	return nil
}

// step runs all trials of one step against one server.
func (c *climb) step(ctx context.Context, i int, step ladderStep) error {
	if err := c.rig.set(step); err != nil {
		return err
	}
	server, err := c.rig.serve(ctx, step)
	if err != nil {
		return err
	}
	defer server.Stop()
	for repeat := range c.o.repeat {
		for _, direction := range []string{directionGet, directionPut} {
			c.show.trial(i, step, direction, repeat)
			at := time.Since(c.r.Start)
			t := ladderTrial{rig: c.rig, step: step, server: server, direction: direction}
			values, took, err := t.run(ctx, c.o.warm, c.o.watch)
			if err != nil {
				return fmt.Errorf("%s: %w", direction, err)
			}
			c.r.Trials = append(c.r.Trials, result.Trial{
				Name: step.name, Start: at, Duration: took, Values: values, Pass: true, Note: step.note(),
				Params: map[string]string{"step": strconv.Itoa(i + 1), "direction": direction, "repeat": strconv.Itoa(repeat + 1)},
			})
		}
	}
	return nil
}

// views are the directions of a step, repeats taken together.
func (c *climb) views(step string) []explain.View {
	return slices.DeleteFunc(explain.Views(c.r), func(v explain.View) bool { return v.Trial != step })
}

// finish explains what was measured: for each step and direction the first
// rule that says what limits, for those below it follow from it.
func (c *climb) finish() *result.Result {
	c.r.Duration = time.Since(c.r.Start)
	for _, v := range explain.Views(c.r) {
		if f, ok := ladderBound(v); ok {
			c.r.Findings = append(c.r.Findings, f)
		}
	}
	if share := strangers(c.r.Trials); share > quiet {
		c.gap("quiet", fmt.Sprintf("other programs took %.0f %% of this machine's cores meanwhile; figures of an idle machine are higher", 100*share))
	}
	if n := len(c.r.Trials); n > 0 {
		c.r.Totals = ladderTotals(c.views(c.r.Trials[n-1].Name))
	}
	return c.r
}

// quiet is the share of the cores that other programs may take before the
// Result says so.
const quiet = 0.1

// strangers returns the share of all cores' time that went to programs other
// than client and server. Only time outside the kernel tells: within it, cores
// work for our connection in whatever program's time it is.
func strangers(trials []result.Trial) float64 {
	var all, ours, cores float64
	for _, t := range trials {
		for _, mode := range []string{"user", "nice"} {
			s, _ := result.Sum(t.Values, result.CPUSeconds, "mode", mode)
			all += s
		}
		s, _ := result.Sum(t.Values, result.ProcessCPU, "mode", "user")
		ours += s
		cores += t.Duration.Seconds() * float64(runtime.NumCPU())
	}
	if cores == 0 {
		return 0
	}
	return max(0, all-ours) / cores
}

// ladderTotals are the goodputs of the highest step reached.
func ladderTotals(top []explain.View) []result.Value {
	var totals []result.Value
	for _, v := range top {
		if g, ok := v.Get(result.Goodput); ok {
			totals = append(totals, result.Goodput.Of(g, "direction", v.Direction))
		}
	}
	return totals
}
