package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/model"
	"github.com/linerate/linerate/result"
)

func newModelFit(c cli) *cobra.Command {
	var name, out, line string
	cmd := &cobra.Command{
		Use: "fit RESULT...", Short: "Make a board's profile from sweeps of message sizes",
		Long: `fit makes the profile of an endpoint from results of 'bench tcp --sweep' or 'bench udp --sweep': what
a message, a byte and a segment cost it, with the error of the fit. Sweeps with different MTUs, or
--mss, tell bytes and segments apart. Sizes beyond those that the costs explain within 10 %, one point in ten
aside, and the greatest of all, are left out, and the profile refuses to predict them.`,
		Example: `  linerate bench tcp 192.168.1.4 --nodelay --sweep=default --repeats 5 -o small.json
  linerate model fit small.json -o board.yaml
  linerate model check board.yaml other-sweep.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("linerate model fit wants RESULT...")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			b := model.Board{Name: name}
			err := rate("--line", line, func(v float64) { b.Line = v })
			if err != nil {
				return err
			}
			b, err = fitted(c, b, args)
			if err != nil {
				return err
			}
			if out == "" {
				return model.Encode(c.out, b)
			}
			if b.Name == "" {
				b.Name = strings.TrimSuffix(filepath.Base(out), ".yaml")
			}
			f, err := os.Create(out)
			if err != nil {
				return err
			}
			return errors.Join(model.Encode(f, b), f.Close())
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "write the profile to `FILE`, which should end in .yaml (default standard output)")
	cmd.Flags().StringVar(&name, "name", "", "`NAME` of the board (default that of the file)")
	cmd.Flags().StringVar(&line, "line", "", "`RATE` of the link, such as 1Gbit/s (default none: the endpoint alone limits)")
	return cmd
}

// fitted fits a board to the sweeps in files and says how well.
func fitted(c cli, b model.Board, files []string) (model.Board, error) {
	var all []model.Point
	for i, name := range files {
		r, err := readResult(c, name)
		if err != nil {
			return b, err
		}
		points, s, err := model.Points(r)
		if err != nil {
			return b, fmt.Errorf("%s: %w", name, err)
		}
		if was := b.Settings; i > 0 && (was.NoDelay != s.NoDelay || was.UDP != s.UDP || was.Timestamps != s.Timestamps) {
			return b, fmt.Errorf("%s: another protocol or other TCP options than %s has: their costs are not the same", name, files[0])
		}
		if i == 0 || s.MTU > b.Settings.MTU {
			b.Settings = s
		}
		b.Title, all = titleOf(r, b.Title), append(all, points...)
	}
	b, err := model.FitPaths(b, all)
	if err != nil {
		return b, err
	}
	b.Settings.Message = math.Inf(1)
	for i, p := range b.Paths {
		b.Settings.Message = min(b.Settings.Message, p.UpTo)
		fmt.Fprintf(c.err, "%s: %.3g us a message, %.3g ns a byte, %.3g us a segment, up to %.0f bytes; greatest residual %.1f %% of %d points\n",
			p.Name, p.Message.A*1e6, p.Message.B*1e9, p.Message.C*1e6, p.UpTo, 100*p.Error, len(b.Paths[i].Anchors))
	}
	return b, nil
}

func titleOf(r *result.Result, already string) string {
	for _, e := range r.Ends {
		if already == "" && e.Role == "tester" {
			return strings.TrimSpace(e.Facts["cpu"] + ", " + r.Workload.Kind + ", kernel " + e.Facts["kernel"])
		}
	}
	return already
}

// against prints a board's predictions of the points of a sweep.
func against(w io.Writer, b model.Board, r *result.Result, name string) error {
	points, s, err := model.Points(r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.Settings.NoDelay, b.Settings.Timestamps = s.NoDelay, s.Timestamps
	worst, n := 0.0, 0
	for _, p := range b.Paths {
		for _, pt := range points {
			if pt.Path != p.Name {
				continue
			}
			what := fmt.Sprintf("%.0f bytes, MTU %d", pt.Message, pt.MTU)
			pr, err := model.Predict(b, p, map[string]float64{"message": pt.Message, "mtu": float64(pt.MTU)})
			if err != nil {
				fmt.Fprintf(w, "  %s\t%s\t%s\t-\t-\t%v\n", p.Name, what, result.FormatBits(pt.Goodput), err)
				continue
			}
			share := pr.Goodput/pt.Goodput - 1
			worst, n = max(worst, math.Abs(share)), n+1
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%+.1f %%\t%s\n", p.Name, what, result.FormatBits(pt.Goodput), result.FormatBits(pr.Goodput), 100*share, pr.Bound)
		}
	}
	fmt.Fprintf(w, "  %s: greatest residual %.1f %% of %d points\n", name, 100*worst, n)
	return nil
}
