package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/linerate/linerate/internal/explain"
	"github.com/linerate/linerate/internal/lever/auto"
	"github.com/linerate/linerate/result"
)

// autoView shows a session while it goes on: a line for each step decided.
type autoView struct {
	w      io.Writer
	trials int
}

func (v *autoView) begin(target string) {
	fmt.Fprintf(v.w, "Tuning towards %s; Ctrl-C puts everything back.\nfirst the noise: what changes when nothing is changed\n", target)
}

func (v *autoView) event(e auto.Event) {
	switch {
	case e.Trial != nil:
		v.trials++
	case e.Decision != nil && e.Decision.Keep:
		fmt.Fprintf(v.w, "%s\n  kept: %s\n", e.Name, e.Decision.Why)
	case e.Decision != nil:
		fmt.Fprintf(v.w, "%s\n  put back: %s\n", e.Name, e.Decision.Why)
	}
}

// autoRow lines up the columns of the steps.
const autoRow = "%-44s %12s %9s %12s %10s  %s\n"

// autoText is the ladder of a session: the state found, what each step gave,
// what bounds the link now, and what is left to do by hand.
func autoText(w io.Writer, r *result.Result) error {
	var b strings.Builder
	if r.Error != "" {
		fmt.Fprintf(&b, "\n%s: %s\n", r.Ending, r.Error)
	}
	fmt.Fprintf(&b, "\n"+autoRow, "", "goodput", "loss", "softirq us", "packets", "")
	fmt.Fprintf(&b, autoRow, "step", "Mbit/s", "", "/packet", "/poll", "")
	for _, t := range firstTrials(r.Trials) {
		trials := after(r.Trials, t.Name)
		verdict := ""
		if t.Params["step"] != "0" {
			_, verdict, _ = strings.Cut(t.Note, ", ")
			verdict, _, _ = strings.Cut(verdict, ":")
		}
		fmt.Fprintf(&b, autoRow, clip(t.Name, 44), middle(trials, "%.1f", func(f auto.Figures) float64 { return f.Goodput / 1e6 }),
			middle(trials, "%.2g %%", func(f auto.Figures) float64 { return 100 * f.Loss }),
			middle(trials, "%.2f", func(f auto.Figures) float64 { return f.Cost * 1e6 }), perPoll(trials), verdict)
		if rule, why, ok := strings.Cut(t.Note, ", "); ok && t.Params["step"] != "0" {
			fmt.Fprintf(&b, "    %s: %s\n", rule, why)
		}
	}
	fmt.Fprintf(&b, "\nended: %s\n", r.Workload.Params["ended"])
	last := ""
	for _, f := range r.Findings {
		last = f.Trial
	}
	now := slices.DeleteFunc(slices.Clone(r.Findings), func(f result.Finding) bool { return f.Trial != last })
	for i, f := range now[:min(3, len(now))] {
		head := "bound now by"
		if i > 0 {
			head = "or by"
		}
		fmt.Fprintf(&b, "%s %s (%s): %s\n", head, f.Rule, f.Code, f.Text)
		for _, a := range f.Levers {
			if strings.HasPrefix(a.Lever, "app.") || a.End != "" {
				fmt.Fprintf(&b, "    by hand: %s\n", adviceText([]result.Advice{a}))
			}
		}
	}
	for _, c := range r.Changes {
		fmt.Fprintf(&b, "kept at the %s: %s=%s (%s)\n", c.End, c.Lever, c.After, c.Why)
	}
	for _, g := range r.Gaps {
		fmt.Fprintf(&b, "not measured: %s: %s\n", g.Source, g.Reason)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// after are the trials of a step with its change; of the state found, all.
func after(trials []result.Trial, name string) []result.Trial {
	var out []result.Trial
	for _, t := range trials {
		if t.Name == name && (t.Params["setting"] == "after" || t.Params["step"] == "0") {
			out = append(out, t)
		}
	}
	return out
}

func middle(trials []result.Trial, format string, of func(auto.Figures) float64) string {
	var xs []float64
	for _, t := range trials {
		xs = append(xs, of(auto.FiguresOf(t)))
	}
	s := result.Summarize(xs)
	if s.N == 0 || math.IsNaN(s.Median) {
		return "-"
	}
	return fmt.Sprintf(format, s.Median)
}

func perPoll(trials []result.Trial) string {
	var xs []float64
	for _, t := range trials {
		if x, ok := (explain.View{Values: t.Values}).Share(result.NAPIPackets, result.NAPIPolls); ok {
			xs = append(xs, x)
		}
	}
	if len(xs) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", result.Summarize(xs).Median)
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n-3] + "..."
}

// cutPPS takes the unit off "25kpps".
func cutPPS(s string) (string, bool) {
	for _, unit := range []string{"pps", "p/s"} {
		if n, ok := strings.CutSuffix(strings.ReplaceAll(s, " ", ""), unit); ok {
			return n, true
		}
	}
	return "", false
}
