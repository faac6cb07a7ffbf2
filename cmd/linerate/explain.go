package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/explain"
	"github.com/linerate/linerate/internal/explain/facts"
	"github.com/linerate/linerate/result"
)

// explainOptions are the flags of explain.
type explainOptions struct {
	facts     []string
	iface     string
	top       int
	all       bool
	factsHelp bool
	rules     bool
}

func newExplain(c cli) *cobra.Command {
	o := &explainOptions{}
	cmd := &cobra.Command{
		Use:   "explain FILE...",
		Short: "Rank what may bound a link, with evidence and what to do",
		Long: "explain reads a result (.json, of any verb), a recorded host (the tar or directory that collect wrote; of two,\n" +
			"the differences count), a capture, or facts of a board in YAML, and ranks what may bound the link: on which\n" +
			"figures each explanation rests, what speaks against it, which setting to turn, what that should bring and\n" +
			"cost, and the measurement that would decide. Several files are taken together as one case.\n\n" +
			"At line rate it says stop; where too little is known it says so, and what to tell next.",
		Example: "  linerate explain result.json\n" +
			"  linerate explain before.tar after.tar -i eth0\n" +
			"  linerate explain --facts board.yaml board.tar --out board.html\n" +
			"  linerate explain --facts-help\n" +
			"  linerate explain --rules R-TCP-1",
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.facts, "facts", nil, "read facts in YAML from `FILE`; '-' is the standard input")
	f.StringVarP(&o.iface, "interface", "i", "", "of a recorded host, judge interface `IF` (default: the one with a speed)")
	f.IntVar(&o.top, "top", 5, "show the first `N` explanations")
	f.BoolVar(&o.all, "all", false, "also show what does not limit")
	f.BoolVar(&o.factsHelp, "facts-help", false, "list the facts that --facts takes")
	f.BoolVar(&o.rules, "rules", false, "list the rules, or those named by id or code")
	out := addOutput(cmd)
	out.text = o.text
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args)+len(o.facts) == 0 && !o.factsHelp && !o.rules {
			return usagef("explain wants a FILE or --facts FILE; see 'linerate explain --help'")
		}
		if o.top < 1 {
			return usagef("explain: --top %d: want 1 or more", o.top)
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case o.factsHelp:
			return facts.Help(c.out)
		case o.rules:
			return showRules(c.out, args)
		}
		r, err := o.gather(cmd.Context(), c, args)
		if err != nil {
			return err
		}
		explainResult(r)
		return out.deliver(c, r, nil)
	}
	return cmd
}

// explainResult fills in the findings of r.
func explainResult(r *result.Result) {
	r.Findings = explain.Explain(r)
	if len(explain.Hypotheses(r.Findings)) == 0 {
		view := explain.View{Duration: r.Duration, Values: r.Totals}
		if views := explain.Views(r); len(views) > 0 {
			view = views[0]
		}
		r.Findings = append([]result.Finding{explain.Undecided(view)}, r.Findings...)
	}
}

// gather makes one case of the files given.
func (o *explainOptions) gather(ctx context.Context, c cli, names []string) (*result.Result, error) {
	var whole *result.Result
	merge := func(r *result.Result) error {
		if whole == nil {
			whole = r
			return nil
		}
		if len(whole.Trials) > 0 && len(r.Trials) > 0 {
			return usagef("explain takes one result with trials at a time; 'linerate diff' compares several")
		}
		whole.Totals = append(whole.Totals, r.Totals...)
		whole.Trials = append(whole.Trials, r.Trials...)
		whole.Findings = append(whole.Findings, r.Findings...)
		whole.Gaps = append(whole.Gaps, r.Gaps...)
		whole.Ends = append(whole.Ends, r.Ends...)
		whole.Duration = max(whole.Duration, r.Duration)
		return nil
	}
	for _, name := range o.facts {
		r, err := readFacts(c, name)
		if err != nil {
			return nil, err
		}
		if err := merge(r); err != nil {
			return nil, err
		}
	}
	var hosts []string
	for _, name := range names {
		var r *result.Result
		var err error
		switch kindOf(name) {
		case "host":
			hosts = append(hosts, name)
			continue
		case "facts":
			r, err = readFacts(c, name)
		case "capture":
			capture := analyzeOptions{top: 10}
			r, err = capture.file(ctx, c, name)
		default:
			r, err = readResult(c, name)
		}
		if err != nil {
			return nil, err
		}
		if err := merge(r); err != nil {
			return nil, err
		}
	}
	if len(hosts) > 0 {
		r, err := readHosts(ctx, hosts, o.iface)
		if err != nil {
			return nil, err
		}
		if err := merge(r); err != nil {
			return nil, err
		}
	}
	return whole, nil
}

// showRules prints the rules whose id or code is among names; all without.
func showRules(w io.Writer, names []string) error {
	found := false
	for _, r := range explain.Rules() {
		if len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return n == r.ID || strings.EqualFold(n, r.Code) }) {
			continue
		}
		found = true
		fmt.Fprintf(w, "%-10s %-26s %s\n", r.Code, r.ID, r.Title)
		if len(names) == 0 {
			continue
		}
		for _, d := range []struct{ label, text string }{{"facts", strings.Join(r.Facts(), ", ")}, {"turn", adviceText(r.Levers)}, {"gain", r.Gain},
			{"trade", r.Trade}, {"next", r.Next}, {"source", r.Ref}} {
			if d.text != "" {
				writeWrapped(w, "  ", d.label, d.text)
			}
		}
	}
	if !found {
		return usagef("explain --rules: no rule %s; 'linerate explain --rules' lists them", strings.Join(names, ", "))
	}
	return nil
}
