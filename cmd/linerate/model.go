package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/model"
	"github.com/linerate/linerate/result"
)

func newModel(c cli) *cobra.Command {
	var set []string
	var o *output
	cmd := &cobra.Command{
		Use:   "model BOARD|FILE.yaml",
		Short: "Predict what a board can do, and what bounds it",
		Long: `model predicts goodput, CPU and the bound of each path of a board's profile, with settings
changed by --set: mtu, message and window in bytes; cpu, serial and delay in microseconds.
It promises no more than the profile's fit, and refuses where the fit says nothing.

Built in: ` + strings.Join(model.Boards(), ", "),
		Example: `  linerate model k2h
  linerate model k2h --set window=8192
  linerate model k2h --set pacing=2 --set timer=50
  linerate model check
  linerate model fit sweep.json -o board.yaml`,
		Args: nArgs("BOARD"),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := o.target(); err != nil {
				return err
			}
			b, err := board(args[0])
			if err != nil {
				return err
			}
			changed, err := settings(set)
			if err != nil {
				return err
			}
			return predict(c, o, b, changed)
		},
	}
	cmd.Flags().StringArrayVar(&set, "set", nil, "change a setting: `KEY=NUMBER`")
	o = addOutput(cmd)
	cmd.AddCommand(newModelCheck(c), newModelFit(c))
	return cmd
}

// board returns the profile named, built in or in a file.
func board(name string) (model.Board, error) {
	if !strings.HasSuffix(name, ".yaml") {
		b, err := model.Load(name)
		if err != nil {
			return b, usagef("%v", err)
		}
		return b, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return model.Board{}, err
	}
	defer f.Close()
	b, err := model.Decode(f)
	if err != nil {
		return b, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

func settings(set []string) (map[string]float64, error) {
	out := map[string]float64{}
	for _, s := range set {
		k, v, ok := strings.Cut(s, "=")
		n, err := strconv.ParseFloat(v, 64)
		if !ok || err != nil {
			return nil, usagef("--set %s: want KEY=NUMBER, such as window=8192", s)
		}
		out[k] = n
	}
	return out, nil
}

// predict makes a Result with one trial a path; a path the model cannot
// predict is a gap with the reason.
func predict(c cli, o *output, b model.Board, set map[string]float64) error {
	now := time.Now()
	params := map[string]string{"board": b.Name}
	for k, v := range set {
		params[k] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	r := &result.Result{ID: result.NewID(now), Origin: result.Modelled, Start: now, Ending: result.Completed,
		Workload: result.Workload{Kind: "model", Params: params},
		Ends:     []result.End{{Role: "dut", Host: b.Title}}}
	for _, p := range b.Paths {
		pr, err := model.Predict(b, p, set)
		if errors.Is(err, model.ErrNotExplained) {
			r.Gaps = append(r.Gaps, result.Gap{Source: p.Name, Reason: err.Error()})
			continue
		}
		if err != nil {
			return usagef("%v", err)
		}
		t := result.Trial{Name: p.Name, Params: map[string]string{"path": p.Name}, Pass: true,
			Values: []result.Value{result.Goodput.Of(pr.Goodput)},
			Note:   fmt.Sprintf("fitted within %.0f %%", 100*pr.Error)}
		if pr.CPU > 0 {
			t.Values = append(t.Values, result.CPUShare.Of(pr.CPU))
		}
		if pr.Paced.Batch > 0 {
			t.Values = append(t.Values, result.PacedInterrupts.Of(pr.Paced.Interrupts), result.PacedBatch.Of(pr.Paced.Batch))
		}
		r.Trials = append(r.Trials, t)
		r.Findings = append(r.Findings, result.Finding{Rule: "model.bound", Trial: p.Name, Verdict: result.Limits,
			Confidence: 1 - pr.Error, Text: p.Name + ": bound by " + pr.Bound + nextBound(pr), Evidence: t.Values})
	}
	return o.deliver(c, r, nil)
}

// nextBound says what would limit once the bound is gone.
func nextBound(p model.Prediction) string {
	if p.Next == "" {
		return ""
	}
	return ", next by " + p.Next
}

func newModelCheck(c cli) *cobra.Command {
	return &cobra.Command{
		Use: "check [BOARD|FILE.yaml|RESULT]...", Short: "Compare profiles with what was measured on the boards",
		Long: `check prints what was measured on the boards beside what their profiles predict, with each residual.
Given results of sweeps it compares the profiles with those.`,
		Example: "  linerate model check\n  linerate model check board.yaml sweep.json",
		RunE: func(_ *cobra.Command, args []string) error {
			var sweeps []string
			args = slices.DeleteFunc(args, func(a string) bool {
				if !strings.HasSuffix(a, ".json") {
					return false
				}
				sweeps = append(sweeps, a)
				return true
			})
			if len(args) == 0 {
				args = model.Boards()
			}
			w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
			for _, name := range args {
				b, err := board(name)
				if err != nil {
					return errors.Join(w.Flush(), err)
				}
				fmt.Fprintf(w, "%s: %s\n", b.Name, b.Title)
				fmt.Fprintln(w, "  path\tpoint\tmeasured\tpredicted\tresidual\tbound")
				for _, name := range sweeps {
					r, err := readResult(c, name)
					if err == nil {
						err = against(w, b, r, name)
					}
					if err != nil {
						return errors.Join(w.Flush(), err)
					}
				}
				if len(sweeps) > 0 {
					continue
				}
				for _, r := range model.Check(b) {
					if r.Err != nil {
						fmt.Fprintf(w, "  %s\t%s\t%s\t-\t-\t%v\n", r.Path, r.What, result.FormatBits(r.Measured), r.Err)
						continue
					}
					fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%+.1f %%\t%s\n", r.Path, r.What, result.FormatBits(r.Measured), result.FormatBits(r.Predicted), 100*r.Share, r.Bound)
				}
				for _, n := range b.Notes {
					fmt.Fprintf(w, "  note: %s\n", n)
				}
			}
			return w.Flush()
		},
	}
}
