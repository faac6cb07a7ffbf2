package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/fleet"
	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/lever"
)

func newAgent(c cli) *cobra.Command {
	o := &agentOptions{}
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Let a paired seat drive this end of the link",
		Long: `agent answers verbs that have --agent, run at the other end of the link: it reads this box's counters, serves
benches, and turns settings. Both ends prove their keys over TLS 1.3; there is no shell, and no
file of the caller's choice. At the first start a code is shown; 'linerate agent trust HOST CODE' at the other end,
the seat, pairs the two for good.

What a seat starts or changes here ends with its connection: settings that were not confirmed are put back when the
seat leaves, dies or falls silent, also when this agent is killed.`,
		Example: `  linerate agent
  linerate agent --read-only --listen 192.0.2.1:5311
  linerate agent --allow bench`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runAgent(cmd.Context(), c, o) },
	}
	cmd.PersistentFlags().StringVar(&o.identity, "identity", identityDir(), "`DIR` of this end's key and the peers it trusts")
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", ":"+strconv.Itoa(fleet.Port), "`ADDRESS` and port to listen on")
	f.StringSliceVar(&o.allow, "allow", []string{"bench", "tune"}, "what seats may do beside reading: `bench,tune`")
	f.BoolVar(&o.readOnly, "read-only", false, "let seats read only")
	f.StringVar(&o.state, "state", agentState(), "`DIR` of the journals of changes")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "also log what is only read")
	cmd.AddCommand(newAgentTrust(c, o), newAgentCode(c, o), newAgentPeers(c, o), newAgentForget(c, o))
	return cmd
}

// agentOptions are the flags of agent and its verbs.
type agentOptions struct {
	identity, listen, state string
	allow                   []string
	readOnly, verbose       bool
}

// identityDir is where an end keeps its key: in the configuration of the user,
// or where a service has no home, beside the journals.
func identityDir() string {
	if d := os.Getenv("CONFIGURATION_DIRECTORY"); d != "" { // systemd.exec(5)
		return d
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return filepath.Join(lever.StateDir(), "identity")
	}
	return filepath.Join(dir, "linerate")
}

// agentState keeps what seats change apart from what is changed on the box
// itself: neither's rollback undoes the other's.
func agentState() string { return filepath.Join(lever.StateDir(), "agent") }

// classes parses --allow.
func (o *agentOptions) classes() ([]fleet.Class, error) {
	var out []fleet.Class
	if o.readOnly {
		return nil, nil
	}
	for _, s := range o.allow {
		c := fleet.Class(strings.TrimSpace(s))
		if !slices.Contains([]fleet.Class{fleet.Bench, fleet.Tune}, c) {
			return nil, usagef("--allow %s: want bench, tune or both", s)
		}
		out = append(out, c)
	}
	return out, nil
}

func runAgent(ctx context.Context, c cli, o *agentOptions) error {
	allow, err := o.classes()
	if err != nil {
		return err
	}
	h, err := host.Live()
	if err != nil {
		return err
	}
	id, err := fleet.LoadIdentity(o.identity)
	if err != nil {
		return err
	}
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: level}))
	settings := &agentTune{tuneOptions: tuneOptions{dir: o.state}, host: h, log: log}
	// What an agent before this one left, and no process answers for, goes first.
	if err := settings.recover(ctx, c); err != nil {
		return err
	}
	a := &fleet.Agent{Name: hostname(), Identity: id, Store: fleet.OpenStore(o.identity), Allow: allow, Log: log,
		Verbs: slices.Concat(readVerbs(h), settings.verbs(), benchVerbs(log))}
	addr, err := a.Listen(ctx, o.listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "agent listens on %s, key %s; Ctrl-C ends it\n", addr, id.Fingerprint().Short())
	if err := o.inviteFirst(c, a.Store, addr); err != nil {
		return err
	}
	return a.Serve(ctx)
}

// inviteFirst shows a code as long as no seat is trusted.
func (o *agentOptions) inviteFirst(c cli, s *fleet.Store, addr net.Addr) error {
	peers, err := s.Peers()
	if err != nil || slices.ContainsFunc(peers, func(p fleet.Peer) bool { return p.Role == fleet.Seat }) {
		return err
	}
	return invite(c, s, addr.String())
}

func invite(c cli, s *fleet.Store, addr string) error {
	code, err := s.Invite(time.Now())
	if err != nil {
		return err
	}
	where := hostname()
	if h, port, err := net.SplitHostPort(addr); err == nil {
		if a := net.ParseIP(h); a != nil && !a.IsUnspecified() {
			where = h
		}
		if port != strconv.Itoa(fleet.Port) {
			where = net.JoinHostPort(where, port)
		}
	}
	fmt.Fprintf(c.out, "pair within %v, at the other end: linerate agent trust %s %s\n", fleet.CodeLifetime, where, code)
	return nil
}
