package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/linerate/linerate/internal/fleet"
	"github.com/linerate/linerate/internal/lever"
)

// show prints settings of the other end.
func (f *farEnd) show(ctx context.Context, out io.Writer, names []string) error {
	at, err := fleet.Call[[]settingAt](ctx, f.Client, "settings", settingsAsk{names})
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range at {
		fmt.Fprintf(w, "%s\t%s\n", s.ID, s.Value)
	}
	return w.Flush()
}

// apply changes settings of the other end: all, or none.
func (f *farEnd) apply(ctx context.Context, c cli, o *applyOptions, args []string) error {
	moves, err := splitMoves(args)
	if err != nil {
		return err
	}
	journal := ""
	for _, m := range moves {
		a, err := fleet.Call[applied](ctx, f.Client, "apply", applyAsk{ID: m[0], Value: m[1], Why: o.why, Within: o.within})
		if err != nil {
			return errors.Join(err, f.undo(context.WithoutCancel(ctx), c, journal))
		}
		journal = a.Journal
		for _, owner := range a.Owners {
			fmt.Fprintf(c.err, "%s: %s runs there and sets this too: %s\n", m[0], owner.Name, owner.Advice)
		}
		if lever.Same(a.Change.Before, a.Change.After) {
			fmt.Fprintf(c.out, "%s: is %q already\n", m[0], a.Change.After)
			continue
		}
		fmt.Fprintf(c.out, "%s: %q to %q at %s\n", m[0], a.Change.Before, a.Change.After, f.Peer.Name)
	}
	if o.keep {
		_, err := f.confirm(ctx)
		return err
	}
	if _, err := fleet.Call[fleet.Nothing](ctx, f.Client, "leave", fleet.Nothing{}); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "put back in %v unless you run: linerate tune confirm --agent %s\n", o.within, o.far.agent)
	return nil
}

// undo puts back a journal that was not finished; where the other end is lost,
// it does so itself.
func (f *farEnd) undo(ctx context.Context, c cli, journal string) error {
	if journal == "" {
		return nil
	}
	return f.rollback(ctx, c, journal)
}

// confirm keeps what waits at the other end, or only what this session changed
// where it has changed something.
func (f *farEnd) confirm(ctx context.Context, journal ...string) ([]lever.History, error) {
	return fleet.Call[[]lever.History](ctx, f.Client, "confirm", journalAsk{first(journal)})
}

func (f *farEnd) rollback(ctx context.Context, c cli, journal ...string) error {
	back, err := fleet.Call[[]putBack](ctx, f.Client, "rollback", journalAsk{first(journal)})
	failed := false
	for _, b := range back {
		o := lever.Outcome{Change: b.Change, Left: b.Left}
		if b.Why != "" {
			o.Err, failed = errors.New(b.Why), true
		}
		printOutcome(c, o)
	}
	if failed {
		err = errors.Join(err, errNotBack)
	}
	if err == nil && len(back) == 0 {
		fmt.Fprintln(c.out, "nothing to put back")
	}
	return err
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

// history lists what was changed at the other end.
func (f *farEnd) history(ctx context.Context, out io.Writer) error {
	hs, err := fleet.Call[[]lever.History](ctx, f.Client, "history", fleet.Nothing{})
	if err != nil {
		return err
	}
	return showHistory(out, hs)
}

// atFar runs f at the other end, for verbs that go no further then.
func (o *farFlags) atFar(ctx context.Context, f func(*farEnd) error) error {
	far, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer far.Close()
	return f(far)
}
