package main

import "github.com/spf13/cobra"

// newBench groups the workloads that measure a link.
func newBench(c cli) *cobra.Command {
	cmd := newBenchFTP(c)
	cmd.AddCommand(newBenchTCP(c), newBenchUDP(c))
	return cmd
}
