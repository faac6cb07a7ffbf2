package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/linerate/linerate/internal/explain"
	"github.com/linerate/linerate/result"
)

// ladderText is what is left to say once every step has been shown: how high
// the climb went, what each step cost and what bounds the last.
func ladderText(w io.Writer, r *result.Result) error {
	var b strings.Builder
	if r.Error != "" {
		fmt.Fprintf(&b, "\n%s: %s\n", r.Ending, r.Error)
	}
	views := explain.Views(&result.Result{Trials: r.Trials})
	if len(views) == 0 {
		_, err := io.WriteString(w, b.String())
		return err
	}
	fmt.Fprintln(&b, "\nWhat each step changed, and its trade")
	for i, t := range firstTrials(r.Trials) {
		change, trade, _ := strings.Cut(t.Note, tradeMark)
		fmt.Fprintf(&b, "%2d %s: %s\n     trade: %s\n", i+1, t.Name, change, trade)
	}
	bottom, top := r.Trials[0].Name, r.Trials[len(r.Trials)-1].Name
	fmt.Fprintf(&b, "\nFrom %q to %q\n", bottom, top)
	for _, direction := range []string{directionGet, directionPut} {
		first, ok1 := goodputOf(views, bottom, direction)
		last, ok2 := goodputOf(views, top, direction)
		if ok1 && ok2 && first > 0 {
			fmt.Fprintf(&b, "  %s %s -> %s, %.1f times\n", direction, result.FormatRate(first), result.FormatRate(last), last/first)
		}
	}
	for _, f := range r.Findings {
		if f.Trial == top {
			fmt.Fprintf(&b, "  bound now by %s; %s\n", f.Rule, f.Text)
		}
	}
	for _, g := range r.Gaps {
		fmt.Fprintf(&b, "\nNot measured: %s: %s\n", g.Source, g.Reason)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// firstTrials returns the first trial of each step.
func firstTrials(trials []result.Trial) []result.Trial {
	return slices.CompactFunc(slices.Clone(trials), func(a, b result.Trial) bool { return a.Name == b.Name })
}

func goodputOf(views []explain.View, step, direction string) (float64, bool) {
	i := slices.IndexFunc(views, func(v explain.View) bool { return v.Trial == step && v.Direction == direction })
	if i < 0 {
		return 0, false
	}
	return views[i].Get(result.Goodput)
}
