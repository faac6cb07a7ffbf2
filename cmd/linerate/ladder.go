package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/result"
)

// ladderOptions are the flags of the verb.
type ladderOptions struct {
	rate     float64 // bit/s; 0: unshaped
	repeat   int
	watch    time.Duration // of each trial
	warm     time.Duration // before it
	loopback bool
	user     bool   // serve on the user-space stack
	self     string // the linerate to run as server
}

func newLadder(c cli) *cobra.Command {
	var o ladderOptions
	var rate, stack string
	cmd := &cobra.Command{
		Use: "ladder", Short: "Climb from a board's file server as shipped to the machine's limit, one change at a time", Args: noArgs,
		Long: `Ladder replays on this machine how the engineers of a field report raised the throughput of a board's FTP server: it
starts our server with the settings the board was shipped with and changes one thing after the other, from the application
down. Each step is measured both ways and repeated, and says what bounds it now and what it costs.

As root on Linux, server and client run in two network namespaces joined by a virtual cable, which --rate makes a real
line: it is shaped and counted as a wire of that rate would. Without root they talk over loopback, whose frames are up to
64 KiB and whose offloads stay as they are: the first steps then start higher, and the last is left out.

With --stack user the server runs on our own TCP/IP stack and a software card, client and server pinned to a core each, and
the report is replayed with the peer's and the driver's steps: fewer acknowledgements by a peer that gathers for 50 us,
descriptors reclaimed outside the send path, receive interrupts paced by 50 us. What the board's engineers measured and what
the model of the board predicts stand beside.`,
		Example: "  sudo linerate ladder\n  sudo linerate ladder --rate 1Gbit --expect 930Mbit/s\n  sudo linerate ladder --stack user\n  linerate ladder --loopback --repeat 1 --json",
	}
	f := cmd.Flags()
	f.StringVar(&rate, "rate", "", "shape the link to a line of `RATE`, such as 1Gbit (needs root)")
	f.IntVar(&o.repeat, "repeat", 3, "measure each step `N` times each way")
	f.DurationVar(&o.watch, "time", 900*time.Millisecond, "measure each transfer for `TIME`")
	f.DurationVar(&o.warm, "warm-up", 200*time.Millisecond, "let each transfer run for `TIME` before it is measured")
	f.BoolVar(&o.loopback, "loopback", false, "use loopback even where namespaces could be made")
	f.StringVar(&stack, "stack", "kernel", "TCP/IP `STACK` of the server: kernel, or user for our own on a software card, with the driver's steps (needs root)")
	out := addOutput(cmd)
	out.text, out.file = ladderText, "linerate-ladder.html"
	f.Lookup("out").DefValue = out.file
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.user = stack == "user"; !o.user && stack != "kernel" {
			return usagef("--stack %s: want kernel or user", stack)
		}
		if err := o.check(rate); err != nil {
			return err
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		o.self = self
		r, err := climbLadder(cmd.Context(), o, newLadderView(c, out.json))
		err = out.deliver(c, r, err)
		if r != nil && !out.json {
			fmt.Fprintln(c.out, "\nThe report with the staircase:", out.file)
		}
		return err
	}
	return cmd
}

// check reads the rate and refuses what cannot be measured.
func (o *ladderOptions) check(rate string) (err error) {
	if rate != "" {
		if o.rate, err = result.ParseRate(rate); err != nil {
			return usagef("--rate: %v", err)
		}
		if o.rate < 1e6 || o.rate > 100e9 {
			return usagef("--rate %s: want between 1Mbit and 100Gbit", rate)
		}
	}
	switch {
	case o.user && (o.rate > 0 || o.loopback):
		return usagef("--stack user climbs on a cable of its own; leave --rate and --loopback out")
	case o.rate > 0 && o.loopback:
		return usagef("--rate shapes a link between network namespaces; leave --loopback out")
	case o.repeat < 1 || o.repeat > 100:
		return usagef("--repeat %d: want 1 to 100", o.repeat)
	case o.watch < 20*time.Millisecond || o.watch > time.Hour:
		return usagef("--time %s: want 20ms to 1h", o.watch)
	case o.warm < 0 || o.warm > time.Hour:
		return usagef("--warm-up %s: want 0s to 1h", o.warm)
	}
	return nil
}

// climbLadder runs the steps and returns their Result, partial where it was
// interrupted or a step failed.
func climbLadder(ctx context.Context, o ladderOptions, show *ladderView) (*result.Result, error) {
	rig, err := newLadderRig(o)
	if err != nil {
		return nil, fmt.Errorf("ladder: %w", err)
	}
	defer rig.Close()
	c := newClimb(rig, o, show)
	err = c.run(ctx)
	r := c.finish()
	switch {
	case ctx.Err() != nil:
		r.Ending, r.Error = result.Interrupted, context.Cause(ctx).Error()
		return r, nil
	case err != nil:
		r.Ending, r.Error = result.Failed, err.Error()
		return r, fmt.Errorf("ladder: %w", err)
	}
	return r, nil
}
