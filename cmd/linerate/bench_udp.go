package main

import (
	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/workload/stream"
)

func newBenchUDP(c cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "udp HOST[:PORT]",
		Short: "Measure UDP goodput, loss, order and jitter",
		Long: "Measures UDP against 'linerate serve stream', iperf3 -s or netserver.\n" +
			"Lost, late and duplicate datagrams are three counters.",
		Example: "  linerate bench udp 192.0.2.1 -b 500Mbit/s\n  linerate bench udp 192.0.2.1 -l 64 --no-offload\n  linerate bench udp 192.0.2.1 --preset nios",
		Args:    nArgs("HOST[:PORT]"),
	}
	out, s := addOutput(cmd), addStream(cmd)
	f := cmd.Flags()
	f.IntVar(&s.test.Batch, "batch", 0, "datagrams of one system call at most (default 64)")
	f.BoolVar(&s.test.NoOffload, "no-offload", false, "no UDP segmentation and coalescing by the kernel (GSO, GRO)")
	f.BoolVar(&s.test.Counters32, "udp-counters-32bit", false, "32-bit sequence numbers, for iperf3 servers older than 3.1")
	f.BoolVar(&s.test.Socket.DontFrag, "dont-fragment", false, "set the DF bit")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s.directionGiven = given(cmd)
		return benchStream(cmd.Context(), c, out, s, stream.UDP, args[0])
	}
	return cmd
}
