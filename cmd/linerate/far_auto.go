package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/fleet"
	"github.com/linerate/linerate/internal/lever"
	"github.com/linerate/linerate/internal/lever/auto"
	"github.com/linerate/linerate/result"
)

// farPatience bounds each question to the other end.
const farPatience = 10 * time.Second

// remoteBox is the other end of a tuning session, through its agent: the
// journal, and who undoes, are there.
type remoteBox struct {
	far     *farEnd
	role    string
	ifname  string
	within  time.Duration
	journal string
}

// reach opens the other end's agent, which also serves the workload where the
// URL names no port.
func (es *autoEnds) reach(o *autoOptions, b *autoBench, role string) error {
	ctx, stop := context.WithTimeout(context.Background(), farPatience)
	defer stop()
	f, err := o.stream.far.open(ctx)
	if err != nil {
		return err
	}
	es.remote = &remoteBox{far: f, role: role, within: o.within}
	address := b.target
	if host, _, err := net.SplitHostPort(b.target); err == nil {
		address = host
	}
	_, d, err := f.describe(ctx, "dut", strings.Trim(address, "[]"))
	if err != nil {
		return err
	}
	es.remote.ifname = d.Interface
	if b.target, err = b.flags.servedBy(ctx, f, b.target, b.test); err != nil {
		return err
	}
	sel := fleet.Selection{Interfaces: []string{d.Interface}, Sends: role == "sender"}
	b.far = &otherEnd{
		counters: func(ctx context.Context) ([]result.Value, error) {
			return fleet.Call[[]result.Value](ctx, f.Client, "counters", sel)
		},
		describe: func(ctx context.Context) (result.End, error) {
			e, _, err := f.describe(ctx, "dut", "", d.Interface)
			return e, err
		},
	}
	return nil
}

// Role returns what advice calls this end.
func (b *remoteBox) Role() string { return b.role }

// Find asks the agent how its box follows a piece of advice.
func (b *remoteBox) Find(ctx context.Context, a result.Advice) ([]auto.Move, error) {
	answer, err := fleet.Call[adviceAnswer](ctx, b.far.Client, "advise", adviceAsk{b.role, b.ifname, a})
	switch {
	case err != nil:
		return nil, err
	case answer.InForce != "":
		return nil, fmt.Errorf("%s: %w", a.Lever, auto.ErrInForce)
	case answer.None != "":
		return nil, fmt.Errorf("%s: %w", answer.None, lever.ErrNoLever)
	}
	return answer.Moves, nil
}

// Apply makes one change there.
func (b *remoteBox) Apply(ctx context.Context, m auto.Move, why string) (result.Change, error) {
	a, err := fleet.Call[applied](ctx, b.far.Client, "apply", applyAsk{ID: m.ID, Value: m.Value, Why: why, Within: b.within})
	if err == nil {
		b.journal = a.Journal
	}
	return a.Change, err
}

// Back puts back the latest change there.
func (b *remoteBox) Back(ctx context.Context) error {
	p, err := fleet.Call[putBack](ctx, b.far.Client, "back", fleet.Nothing{})
	if err == nil && p.Left != "" {
		err = fmt.Errorf("%s: now %s, not by us: %w", p.Change.Lever, p.Left, auto.ErrLeft)
	}
	return err
}

// undo puts back everything there.
func (b *remoteBox) undo(ctx context.Context, c cli) error {
	if b.journal == "" {
		return nil
	}
	return b.far.rollback(ctx, c, b.journal)
}

// finish keeps what is in force there, or leaves it to its timer.
func (b *remoteBox) finish(ctx context.Context, c cli, o *autoOptions) error {
	if b.journal == "" {
		return nil
	}
	if o.keep {
		_, err := b.far.confirm(ctx, b.journal)
		return err
	}
	if _, err := fleet.Call[fleet.Nothing](ctx, b.far.Client, "leave", fleet.Nothing{}); err != nil {
		return err
	}
	if !o.json {
		fmt.Fprintf(c.out, "and at the other end: linerate tune confirm --agent %s\n", o.stream.far.agent)
	}
	return nil
}
