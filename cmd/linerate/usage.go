package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// strictArgs makes every mistake in the words of a command line an error of
// exit status 2 that says what to do next: cobra reports unknown verbs like
// any failure and lets groups of verbs swallow what they don't know.
func strictArgs(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		strictArgs(sub)
	}
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.Args = knownVerb
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		return
	}
	check := cmd.Args
	if check == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil || errors.Is(err, errUsage) {
			return err
		}
		return usagef("%s %v; see '%s --help'", cmd.CommandPath(), err, cmd.CommandPath())
	}
}

// knownVerb refuses a word that is no verb of the group, naming the nearest.
func knownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2 // letters to change; cobra's own default, which it sets too late for us
	hint := fmt.Sprintf("see '%s --help'", cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("did you mean '%s %s'?", cmd.CommandPath(), strings.Join(near, "' or '"+cmd.CommandPath()+" "))
	}
	return usagef("%s has no verb %q; %s", cmd.CommandPath(), args[0], hint)
}
