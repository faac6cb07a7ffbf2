package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/explain"
	wire "github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/result"
)

func newBenchTCP(c cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tcp HOST[:PORT]",
		Short: "Measure TCP goodput, message by message or transaction by transaction",
		Long: "Measures TCP against 'linerate serve stream', iperf3 -s or netserver.\n" +
			"Goodput is what the receiver got, by its own clock.",
		Example: "  linerate bench tcp 192.0.2.1\n  linerate bench tcp 192.0.2.1 --bidir -P 8 -C cubic\n" +
			"  linerate bench tcp 192.0.2.1 --sweep default --nodelay -o sweep.html\n  linerate bench tcp 192.0.2.1 --rr 1 --expect 10kbit/s\n" +
			"  linerate bench tcp 192.0.2.1 --agent 192.0.2.1   # it serves, and its readings land here too",
		Args: nArgs("HOST[:PORT]"),
	}
	out, s := addOutput(cmd), addStream(cmd)
	f := cmd.Flags()
	f.StringVarP(&s.test.Socket.Congestion, "congestion", "C", "", "congestion control `ALGORITHM`, set before connect")
	f.IntVarP(&s.test.Socket.MSS, "mss", "M", 0, "greatest segment, bytes")
	f.BoolVarP(&s.test.Socket.NoDelay, "nodelay", "N", false, "no Nagle's algorithm: each message leaves at once")
	f.BoolVar(&s.test.Socket.Multipath, "mptcp", false, "Multipath TCP (RFC 8684)")
	f.StringVarP(&s.zerocopy, "zerocopy", "Z", "", "send without copying: `sendfile` or msg_zerocopy")
	f.Lookup("zerocopy").NoOptDefVal = string(stream.Sendfile)
	f.BoolVar(&s.capture, "capture", false, captureHelp)
	f.BoolVar(&s.test.Discard, "skip-rx-copy", false, "drop received payload in the kernel (MSG_TRUNC)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s.directionGiven = given(cmd)
		return benchStream(cmd.Context(), c, out, s, stream.TCP, args[0])
	}
	return cmd
}

// benchStream measures what the flags ask and shows it.
func benchStream(ctx context.Context, c cli, out *output, s *streamFlags, p stream.Protocol, target string) error {
	t, err := s.fill(p)
	if err != nil {
		return err
	}
	far, err := s.openFarSide(ctx, &target, t)
	if err != nil {
		return err
	}
	defer far.close()
	if s.sweep != "" || s.repeats > 1 {
		r, err := s.series(ctx, target, t)
		far.into(r)
		return out.deliver(c, r, err)
	}
	d, err := s.peer(target, t)
	if err != nil {
		return err
	}
	l, err := lineTo(target, s.line)
	if err != nil {
		return err
	}
	var watch *beside
	if s.capture {
		if watch, err = watchBeside(withPort(target, wire.Port)); err != nil {
			return err
		}
	}
	more, closeMeters, err := s.openMeters()
	if err != nil {
		return err
	}
	defer closeMeters()
	r, o, err := record(ctx, d, target, t, s.every, append(more, far.meters()...)...)
	far.into(r)
	if limit := l.limit(t); r != nil && limit > 0 {
		r.Totals = append(r.Totals, result.LineLimit.Of(limit))
	}
	if r != nil {
		r.Findings = explain.Explain(r)
	}
	if watch != nil {
		watch.into(r)
	}
	if s.iperf3JSON {
		return s.deliverIperf3(c, out, r, o, withPort(target, wire.Port), err)
	}
	if o.Remote != nil && o.Remote.Output != "" && !out.json {
		fmt.Fprintf(c.out, "server output:\n%s\n", o.Remote.Output)
	}
	if r != nil && !out.json {
		napiText(c.out, r.Totals, r.Duration)
	}
	return out.deliver(c, r, err)
}

// given reports whether the user chose a direction.
func given(cmd *cobra.Command) bool {
	f := cmd.Flags()
	return f.Changed("direction") || f.Changed("reverse") || f.Changed("bidir")
}
