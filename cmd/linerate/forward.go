package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/lever"
	"github.com/linerate/linerate/internal/serve/fastpath"
)

// newForward groups the verbs of the fast path.
func newForward(c cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forward",
		Short: "Forward packets beside the Linux stack, as its rules say",
		Long: `forward puts a fast path (XDP) beside the Linux stack, which stays in charge: its routes, neighbours,
nftables rules, NAT and conntrack decide on each connection, and the fast path repeats what it saw
the stack do. Whatever it isn't sure of goes to the stack; 'linerate forward show' says why.

Packets on the fast path are not seen by tcpdump, queueing disciplines, tc filters and the counters
of rules and of conntrack; 'linerate forward show --flows' lists the connections and what they moved
there. Rules that act on each packet of an established connection (limit, quota, log, queue) act
only on those the stack sees, one every few seconds.`,
		Args: noArgs,
	}
	cmd.AddCommand(newForwardUp(c), newForwardDown(c), newForwardShow(c), newForwardTop(c), newForwardFollow(c), newForwardIPsec(c))
	return cmd
}

// forwardOptions are the flags of forward up.
type forwardOptions struct {
	fastpath.Options
	foreground, verbose bool
	metrics             string
}

func newForwardUp(c cli) *cobra.Command {
	o := &forwardOptions{}
	cmd := &cobra.Command{
		Use:   "up INTERFACE...",
		Short: "Put the fast path on interfaces",
		Long: `up attaches the fast path to the interfaces and starts a process that follows the stack's rules,
routes and connections. Run again, it replaces programs and process without a gap. If that process
dies, forwarding goes on for the lease, and then through the stack alone.`,
		Example: `  linerate forward up eth0 eth1
  linerate forward up eth0 eth1 --foreground --metrics 127.0.0.1:9100   as a service`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("forward up wants the interfaces to forward between, such as eth0 eth1")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Interfaces = args
			return o.up(cmd.Context(), c)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Flows, "flows", 0, "connections that the table holds, rounded up to a power of two, of 768 bytes each; more are the stack's; 0: 65,536, or what 1/64 of the memory holds")
	f.DurationVar(&o.Recheck, "recheck", 5*time.Second, "let the stack decide on each connection again after `TIME`; keep below conntrack's timeouts")
	f.DurationVar(&o.Lease, "lease", 30*time.Second, "go on for `TIME` when the following process is gone")
	f.BoolVar(&o.foreground, "foreground", false, "follow in this process until interrupted")
	f.StringVar(&o.metrics, "metrics", "", "`ADDRESS` to serve Prometheus /metrics on")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log what makes the stack decide again")
	return cmd
}

func (o *forwardOptions) up(ctx context.Context, c cli) error {
	if o.Recheck < 100*time.Millisecond || o.Lease < time.Second || o.Flows < 0 || o.Flows > 1<<22 {
		return usagef("want --recheck of 100ms or more, --lease of 1s or more, and --flows from 1 to 4194304")
	}
	p, err := fastpath.Up(o.Options)
	if err != nil {
		return err
	}
	for _, name := range o.Interfaces {
		switch p.Modes()[name] {
		case "driver":
			fmt.Fprintf(c.err, "%s: attached in the driver\n", name)
		case "stack":
			fmt.Fprintf(c.err, "%s: its driver has no XDP, attached in the stack: about as fast as the stack itself\n", name)
		default:
			fmt.Fprintf(c.err, "%s: program replaced\n", name)
		}
	}
	fmt.Fprintln(c.err, "connections on the fast path bypass tcpdump, queueing disciplines and rule counters; 'linerate forward show --flows' lists them")
	if o.foreground {
		return errors.Join(o.follow(ctx, c, p), p.Close())
	}
	if err := p.Close(); err != nil {
		return err
	}
	exe, err := self()
	if err != nil {
		return err
	}
	args := []string{"forward", "follow", "--recheck", o.Recheck.String(), "--lease", o.Lease.String(), "--metrics", o.metrics}
	return lever.Arm(exe, append(args, o.Interfaces...)...)
}

// follow runs until ctx ends or another follower takes over.
func (o *forwardOptions) follow(ctx context.Context, c cli, p *fastpath.Path) error {
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	ctx, release, err := fastpath.Claim(ctx)
	if err != nil {
		return err
	}
	defer release()
	if o.metrics != "" {
		l, err := listenMetrics(o.metrics, nil, p)
		if err != nil {
			return err
		}
		defer l.Close()
	}
	err = p.Follow(ctx, slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: level})))
	if errors.Is(err, fastpath.ErrReplaced) {
		return nil
	}
	return err
}

// newForwardFollow is the process that up leaves behind.
func newForwardFollow(c cli) *cobra.Command {
	o := &forwardOptions{}
	cmd := &cobra.Command{
		Use: "follow INTERFACE...", Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Interfaces = args
			p, err := fastpath.Up(o.Options)
			if err != nil {
				return err
			}
			return errors.Join(o.follow(cmd.Context(), c, p), p.Close())
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.Recheck, "recheck", 5*time.Second, "")
	f.DurationVar(&o.Lease, "lease", 30*time.Second, "")
	f.StringVar(&o.metrics, "metrics", "", "")
	return cmd
}

func newForwardDown(c cli) *cobra.Command {
	return &cobra.Command{
		Use: "down", Short: "Take the fast path off: everything is the stack's again", Args: noArgs,
		Example: "  linerate forward down",
		RunE: func(*cobra.Command, []string) error {
			p, err := fastpath.Open("")
			var names []string
			if err == nil {
				s, serr := p.State()
				names, err = s.Interfaces, errors.Join(serr, p.Close())
			}
			fastpath.Dismiss()
			if derr := fastpath.Down(""); derr != nil {
				return derr
			}
			if len(names) == 0 {
				fmt.Fprintln(c.out, "no fast path was up")
				return nil
			}
			fmt.Fprintf(c.out, "detached from %s\n", strings.Join(names, ", "))
			return err
		},
	}
}
