package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newRoot assembles the verbs. Each lives in a file of its own, in four parts:
// flags, options, call, render.
func newRoot(c cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "linerate",
		Short:         "Get an Ethernet link to line rate",
		Long:          "linerate measures an Ethernet link, explains what bounds it, changes the right setting\nand puts it back, and serves the jobs a link is for: moving files and forwarding packets.",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.SetIn(c.in)
	cmd.SetOut(c.out)
	cmd.SetErr(c.err)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usagef("%s: %v", cmd.CommandPath(), err) })
	cmd.AddCommand(
		newAgent(c),
		newAnalyze(c),
		newBench(c),
		newCollect(c),
		newDiff(c),
		newDoctor(c),
		newExplain(c),
		newGet(c),
		newImport(c),
		newInspect(c),
		newLs(c),
		newPut(c),
		newLadder(c),
		newModel(c),
		newForward(c),
		newGenerate(c),
		newMLR(c),
		newRFC2544(c),
		newReport(c),
		newServe(c),
		newTune(c),
		newVersion(c),
		newWatch(c),
	)
	groupVerbs(cmd)
	strictArgs(cmd)
	return cmd
}

// newServe groups the services that stay on the box.
func newServe(c cli) *cobra.Command {
	cmd := &cobra.Command{Use: "serve", Short: "Serve the jobs a link is for", Args: noArgs}
	cmd.AddCommand(newServeFTP(c), newServeReflect(c), newServeStream(c))
	return cmd
}

// usagef makes an error of exit status 2.
func usagef(format string, args ...any) error {
	return usageError(fmt.Sprintf(format, args...))
}

type usageError string

func (e usageError) Error() string        { return string(e) }
func (e usageError) Is(target error) bool { return target == errUsage }

// noArgs refuses arguments, naming the nearest thing to do.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("%s takes no argument %q; see '%s --help'", cmd.CommandPath(), strings.Join(args, " "), cmd.CommandPath())
}

// nArgs wants exactly the arguments named.
func nArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return usagef("%s wants %s; see '%s --help'", cmd.CommandPath(), strings.Join(names, " "), cmd.CommandPath())
	}
}
