package main

import (
	"slices"

	"github.com/spf13/cobra"
)

// verbGroups are the parts of the root help, in the order of a day's work.
func verbGroups() []struct {
	id, title string
	verbs     []string
} {
	return []struct {
		id, title string
		verbs     []string
	}{
		{"measure", "Measure a link:", []string{"ladder", "bench", "rfc2544", "mlr", "generate", "sweep", "watch", "doctor", "collect", "agent", "model"}},
		{"explain", "Explain and report:", []string{"analyze", "explain", "report", "diff", "import", "web"}},
		{"change", "Change settings and put them back:", []string{"tune", "apply", "rollback", "levers", "auto"}},
		{"serve", "Serve the jobs a link is for:", []string{"serve", "get", "put", "ls", "forward", "inspect"}},
		{"self", "About linerate:", []string{"version", "completion", "help"}},
	}
}

// groupVerbs sorts the verbs of root into the parts of its help.
func groupVerbs(root *cobra.Command) {
	for _, g := range verbGroups() {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range root.Commands() {
			if slices.Contains(g.verbs, cmd.Name()) {
				cmd.GroupID = g.id
			}
		}
	}
	root.SetHelpCommandGroupID("self")
	root.SetCompletionCommandGroupID("self")
}
