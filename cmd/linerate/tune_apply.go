package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/lever"
)

func newTuneApply(c cli, t *tuneOptions) *cobra.Command {
	o := &applyOptions{tuneOptions: t}
	cmd := &cobra.Command{
		Use:   "apply SETTING=VALUE...",
		Short: "Change settings; undone unless confirmed in time",
		Example: `  linerate tune apply sysctl.net.ipv4.tcp_rmem='4096 131072 16777216'
  linerate tune apply ethtool.coalesce.rx-usecs@eth0=50 link.mtu@eth0=9000
  linerate tune confirm
  linerate tune apply --agent 192.0.2.1 ethtool.rings.rx@eth0=1024          at the other end`,
		RunE: func(cmd *cobra.Command, args []string) error { return runTuneApply(cmd.Context(), c, o, args) },
	}
	o.far = addFar(cmd, "change settings of")
	f := cmd.Flags()
	f.DurationVar(&o.within, "confirm-within", 2*time.Minute, "time to run 'tune confirm' before everything is put back")
	f.BoolVar(&o.keep, "keep", false, "keep the changes without confirmation")
	f.StringVar(&o.why, "why", "", "rule or reason to note in the journal")
	return cmd
}

type applyOptions struct {
	*tuneOptions
	far    *farFlags
	within time.Duration
	keep   bool
	why    string
}

// move is one change asked for.
type move struct {
	setting lever.Setting
	value   string
}

func runTuneApply(ctx context.Context, c cli, o *applyOptions, args []string) (err error) {
	if o.far.given() {
		return o.far.atFar(ctx, func(f *farEnd) error { return f.apply(ctx, c, o, args) })
	}
	h, err := host.Live()
	if err != nil {
		return err
	}
	moves, err := parseMoves(h, args)
	if err != nil {
		return err
	}
	if o.keep {
		for _, m := range moves {
			if m.setting.Cuts && lever.Controls(h, m.setting.Interface) {
				return fmt.Errorf("%s: you are connected through %s: leave out --keep, so that it is put back if the connection breaks",
					m.setting.ID(), m.setting.Interface)
			}
		}
	}
	if err := o.recover(ctx, c); err != nil {
		return err
	}
	j, err := lever.Create(o.dir, lever.Here(h))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if !o.keep {
		exe, err := self()
		if err != nil {
			return err
		}
		if err := j.Arm(exe, "tune", "watchdog", "--state", o.dir, "--wait", o.within.String(), j.ID); err != nil {
			return err
		}
	}
	for _, m := range moves {
		if err := applyOne(ctx, c, h, j, m, o.why); err != nil {
			return errors.Join(err, undoNow(ctx, c, h, o, j))
		}
	}
	if o.keep {
		return j.Confirm()
	}
	fmt.Fprintf(c.out, "put back in %v unless you run: linerate tune confirm\n", o.within)
	return nil
}

func parseMoves(h host.Host, args []string) ([]move, error) {
	pairs, err := splitMoves(args)
	if err != nil {
		return nil, err
	}
	var moves []move
	for _, p := range pairs {
		s, err := lever.Find(h, p[0])
		if err != nil {
			return nil, usagef("%v", err)
		}
		moves = append(moves, move{s, p[1]})
	}
	return moves, nil
}

// splitMoves reads SETTING=VALUE.
func splitMoves(args []string) ([][2]string, error) {
	if len(args) == 0 {
		return nil, usagef("tune apply wants SETTING=VALUE; 'linerate tune show' lists the settings")
	}
	var out [][2]string
	for _, a := range args {
		id, v, ok := strings.Cut(a, "=")
		if !ok {
			return nil, usagef("%q: want SETTING=VALUE", a)
		}
		out = append(out, [2]string{id, v})
	}
	return out, nil
}

func applyOne(ctx context.Context, c cli, h host.Host, j *lever.Journal, m move, why string) error {
	for _, owner := range lever.Owners(h, m.setting.ID()) {
		fmt.Fprintf(c.err, "%s: %s runs and sets this too: %s\n", m.setting.ID(), owner.Name, owner.Advice)
	}
	ch, err := j.Apply(ctx, m.setting, m.value, why)
	if err != nil {
		return err
	}
	if lever.Same(ch.Before, ch.After) {
		fmt.Fprintf(c.out, "%s: is %q already\n", ch.Lever, ch.After)
		return nil
	}
	fmt.Fprintf(c.out, "%s: %q to %q\n", ch.Lever, ch.Before, ch.After)
	return nil
}

// undoNow puts back what was done of a set of changes that failed half way.
func undoNow(ctx context.Context, c cli, h host.Host, o *applyOptions, j *lever.Journal) error {
	return o.each([]string{j.ID}, func(again *lever.Journal, past lever.History) error {
		out, err := lever.Undo(ctx, h, lever.Here(h), again, past)
		for _, x := range out {
			printOutcome(c, x)
		}
		return err
	})
}
