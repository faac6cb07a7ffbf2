package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/linerate/linerate/result"
)

// inspectText shows what became of the frames, and whose they were.
func inspectText(w io.Writer, r *result.Result) error {
	p := r.Workload.Params
	fmt.Fprintf(w, "%s on %s, %s, in the %s, %.1f s\n", p["mode"], p["interface"], p["direction"], p["where"], r.Duration.Seconds())
	for _, name := range []string{"seen", "matched", "taken", "skipped", "limited", "lost"} {
		n, ok := result.Get(r.Totals, result.InspectFrames, "outcome", name)
		if ok && (n > 0 || name != "skipped" && name != "limited") {
			fmt.Fprintf(w, "  %-8s %14.0f frames\n", name, n)
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, part := range []struct {
		metric      result.Metric
		title, name string
	}{{result.InspectSizes, "frames by size, with FCS", "size"}, {result.InspectProtocol, "bytes by protocol", "protocol"}, {result.InspectFlow, "bytes by flow, the largest", "flow"}} {
		title := part.title
		for _, v := range r.Totals {
			if v.Metric != part.metric.Name {
				continue
			}
			if title != "" {
				fmt.Fprintf(t, "%s\n", title)
				title = ""
			}
			fmt.Fprintf(t, "  %.0f\t%s\n", v.V, "  "+v.Labels[part.name])
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if n, ok := result.Get(r.Totals, result.InspectFlows); ok {
		fmt.Fprintf(w, "%.0f flows\n", n)
	}
	return nil
}

// compareText shows goodput and CPU by message size, a column for each
// direction and kind of inspection.
func compareText(w io.Writer, r *result.Result) error {
	type column struct{ way, mode string }
	var columns []column
	var sizes []int
	cells := map[string][]result.Trial{}
	for _, t := range r.Trials {
		n, _ := strconv.Atoi(t.Params[messageParam]) // 0: not a trial of a size
		c := column{t.Params[directionParam], t.Params[inspectionParam]}
		if !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
		if !slices.Contains(sizes, n) {
			sizes = append(sizes, n)
		}
		k := fmt.Sprint(n, c)
		cells[k] = append(cells[k], t)
	}
	slices.SortStableFunc(columns, func(a, b column) int {
		return slices.Index([]string{"rx", "tx"}, b.way) - slices.Index([]string{"rx", "tx"}, a.way)
	})
	for _, figure := range []struct {
		title string
		of    func(result.Trial) (float64, bool)
		scale float64
	}{
		{"goodput, Mbit/s", func(t result.Trial) (float64, bool) { return result.Get(t.Values, result.Goodput) }, 1e-6},
		{"goodput kept, %", func(t result.Trial) (float64, bool) { return result.Get(t.Values, result.InspectShare) }, 100},
		{"CPU of the machine per frame, ns", func(t result.Trial) (float64, bool) { return cpuPerFrame(t.Values) }, 1e9},
	} {
		fmt.Fprintln(w, figure.title)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprint(t, "message\t")
		for _, c := range columns {
			fmt.Fprintf(t, "%s %s\t", c.way, c.mode)
		}
		fmt.Fprintln(t)
		for _, n := range sizes {
			fmt.Fprintf(t, "%d\t", n)
			for _, c := range columns {
				var vs []float64
				for _, trial := range cells[fmt.Sprint(n, c)] {
					if v, ok := figure.of(trial); ok {
						vs = append(vs, v)
					}
				}
				if len(vs) == 0 {
					fmt.Fprint(t, "\t")
					continue
				}
				fmt.Fprintf(t, "%.*f\t", map[bool]int{true: 2}[figure.scale == 1e-6], result.Summarize(vs).Median*figure.scale)
			}
			fmt.Fprintln(t)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
