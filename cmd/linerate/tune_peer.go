package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/linerate/linerate/internal/explain"
	"github.com/linerate/linerate/internal/lever/byhand"
	"github.com/linerate/linerate/result"
)

// peerSystems lists what --peer-os takes.
func peerSystems() string {
	var names []string
	for _, os := range byhand.All() {
		names = append(names, string(os))
	}
	return strings.Join(names, ", ")
}

// advisePeer writes what a person is to do at an end that this program does not
// run on.
func advisePeer(ctx context.Context, c cli, o *explainOptions, os byhand.OS, args []string) error {
	if !slices.Contains(byhand.All(), os) {
		return usagef("--peer-os %s: want %s", os, peerSystems())
	}
	r, err := o.gather(ctx, c, args)
	if err != nil {
		return err
	}
	explainResult(r)
	return writeByHand(c.out, os, explain.Hypotheses(r.Findings))
}

// writeByHand writes the instructions that findings ask for, each once, in the
// order of the findings.
func writeByHand(w io.Writer, os byhand.OS, fs []result.Finding) error {
	var b strings.Builder
	told := map[string]bool{}
	n := 0
	for _, f := range fs {
		for _, a := range f.Levers {
			i, ok := byhand.For(os, a)
			text := strings.Join(i.Do, "\n")
			if !ok || told[text] {
				continue
			}
			told[text] = true
			n++
			fmt.Fprintf(&b, "%d. %s", n, a.Lever)
			if a.End != "" && a.End != "peer" {
				fmt.Fprintf(&b, ", where it is the %s", a.End)
			}
			fmt.Fprintf(&b, "; for %s (%s), confidence %.0f %%\n", f.Code, f.Rule, 100*f.Confidence)
			for _, part := range []struct {
				head  string
				lines []string
			}{{"do", i.Do}, {"undo", i.Undo}} {
				fmt.Fprintf(&b, "   %s:\n", part.head)
				for _, line := range part.lines {
					fmt.Fprintf(&b, "      %s\n", line)
				}
			}
			for _, line := range []struct{ head, text string }{{"note", i.Note}, {"gain", f.Gain}, {"trade", f.Trade}, {"source", i.Ref}} {
				if line.text != "" {
					fmt.Fprintf(&b, "   %s: %s\n", line.head, line.text)
				}
			}
		}
	}
	if n == 0 {
		fmt.Fprintf(&b, "nothing to do by hand: no explanation names a setting that is known on %s\n", os)
	} else {
		b.WriteString("\nChange one thing, measure again ('linerate bench'), and undo it where that shows nothing.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
