package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/result"
)

// eachVerb visits every visible command that does something.
func eachVerb(visit func(*cobra.Command)) {
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			if !sub.Hidden {
				visit(sub)
				walk(sub)
			}
		}
	}
	walk(newRoot(cli{strings.NewReader(""), os.Stdout, os.Stderr}))
}

func TestVerbsExplainThemselves(t *testing.T) {
	eachVerb(func(cmd *cobra.Command) {
		name := cmd.CommandPath()
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short help %q: want a phrase without a full stop", name, cmd.Short)
		}
		if !cmd.HasSubCommands() && cmd.Example == "" && cmd.Name() != "version" {
			t.Errorf("%s: no example", name)
		}
		if cmd.Example != "" && !strings.Contains(cmd.Example, name) {
			t.Errorf("%s: the example does not run it: %q", name, cmd.Example)
		}
		if !cmd.Parent().HasParent() && cmd.GroupID == "" {
			t.Errorf("%s: in no group of the root help; see groups.go", name)
		}
	})
}

// TestExamplesParse runs every line of every example as far as its flags and
// arguments.
func TestExamplesParse(t *testing.T) {
	eachVerb(func(verb *cobra.Command) {
		for line := range strings.Lines(verb.Example) {
			line, _, _ = strings.Cut(line, "#")
			for part := range strings.SplitSeq(line, "|") {
				words := strings.Fields(part)
				if len(words) == 0 || words[0] != "linerate" {
					continue
				}
				root := newRoot(cli{strings.NewReader(""), os.Stdout, os.Stderr})
				cmd, rest, err := root.Find(words[1:])
				if err == nil {
					err = cmd.ParseFlags(rest)
				}
				if err != nil {
					t.Errorf("%s: example %q: %v", verb.CommandPath(), strings.TrimSpace(part), err)
				}
			}
		}
	})
}

// call runs a command line with no terminal and returns what it printed.
func call(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), cli{strings.NewReader(""), &out, &errs}, args)
	return status, out.String(), errs.String()
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if status, out, errs := call(t, "completion", shell); status != exitDone || !strings.Contains(out, "linerate") {
			t.Errorf("%s: status %d, %d bytes, %s", shell, status, len(out), errs)
		}
	}
	_, out, _ := call(t, "__complete", "report", "x.json", "--format", "")
	if got := strings.Fields(out); !slices.Contains(got, "html") || !slices.Contains(got, "csv") {
		t.Errorf("--format completes to %q", out)
	}
}

func TestReportVerb(t *testing.T) {
	const ladder = "../../result/testdata/ladder.json"
	if status, out, errs := call(t, "report", ladder); status != exitDone || !strings.Contains(out, "941.3  117.7  100.0 %") {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
	page := filepath.Join(t.TempDir(), "x.html")
	if status, out, errs := call(t, "report", ladder, "--out", page); status != exitDone || out != "" {
		t.Errorf("status %d, printed %q, %s", status, out, errs)
	}
	if data, err := os.ReadFile(page); err != nil || !bytes.HasPrefix(data, []byte("<!doctype html>")) {
		t.Errorf("page: %.40q, %v", data, err)
	}
	for _, c := range []struct {
		status int
		args   []string
	}{
		{exitUsage, []string{"repot", ladder}},
		{exitUsage, []string{"serve", "tea"}},
		{exitUsage, []string{"version", "2"}},
		{exitUsage, []string{"report"}},
		{exitUsage, []string{"report", ladder, "--format", "pdf"}},
		{exitUsage, []string{"report", ladder, "--out", "x.pdf"}},
		{exitFailed, []string{"report", "no-such-file.json"}},
		{exitFailed, []string{"report", "verbs_test.go"}},
		{exitUsage, []string{"diff", ladder}},
		{exitFailed, []string{"diff", ladder, t.TempDir()}},
		{exitDone, []string{"diff", ladder, ladder, "--json"}},
	} {
		if status, _, errs := call(t, c.args...); status != c.status || (status != exitDone) != (errs != "") {
			t.Errorf("%q: status %d, want %d; %s", c.args, status, c.status, errs)
		}
	}
}

func TestUnknownVerbNamesTheNearest(t *testing.T) {
	if _, _, errs := call(t, "repot"); !strings.Contains(errs, "did you mean 'linerate report'?") {
		t.Errorf("got %q", errs)
	}
}

func TestExpect(t *testing.T) {
	r := &result.Result{Totals: []result.Value{result.Goodput.Of(900e6, "direction", "get"), result.Goodput.Of(700e6, "direction", "put")}}
	for expect, want := range map[string]int{"": exitDone, "700Mbit/s": exitDone, "800Mbit/s": exitMissed, "fast": exitUsage} {
		o := &output{expect: expect}
		if got := status(o.judge(r)); got != want {
			t.Errorf("--expect %q: status %d, want %d", expect, got, want)
		}
	}
	if got := status((&output{expect: "1Mbit/s"}).judge(&result.Result{})); got != exitMissed {
		t.Errorf("no goodput at all: status %d, want %d", got, exitMissed)
	}
}

// TestOutputIsCheckedFirst: a mistake in --out or --expect must cost no
// measurement.
func TestOutputIsCheckedFirst(t *testing.T) {
	for _, args := range [][]string{{"--out", "x.pdf"}, {"--expect", "fast"}} {
		ran := false
		cmd := &cobra.Command{Use: "measure", RunE: func(*cobra.Command, []string) error { ran = true; return nil }, SilenceErrors: true, SilenceUsage: true}
		addOutput(cmd)
		cmd.SetArgs(args)
		if err := cmd.Execute(); status(err) != exitUsage || ran {
			t.Errorf("%q: %v, ran %v", args, err, ran)
		}
	}
}
