package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/explain"
	"github.com/linerate/linerate/result"
)

// ladderView shows the climb while it goes on: a line for each step that is
// done, and where a terminal looks on, what is running now.
type ladderView struct {
	w        io.Writer // of the lines
	progress io.Writer // of what is running now
	climb    *climb
	done     int // trials
}

// newLadderView writes the lines to standard output, which json keeps free for
// the Result: then only a terminal gets them.
func newLadderView(c cli, json bool) *ladderView {
	v := &ladderView{w: c.out, progress: io.Discard}
	if json {
		v.w = io.Discard
	}
	if isTerminal(c.err) {
		v.progress = c.err
		if json {
			v.w = c.err
		}
	}
	return v
}

// ladderRow lines up the columns of the steps: name, then for each direction
// goodput in Mbit/s and in MB/s, then the other figures as get/put.
const ladderRow = "%-21s %10s %7s %11s %7s %12s %12s %11s\n"

func (v *ladderView) begin(c *climb) {
	v.climb = c
	where := "two network namespaces joined by a virtual cable"
	if c.rig.link == nil {
		where = "loopback, because: " + c.rig.why
	}
	if c.o.rate > 0 {
		where += fmt.Sprintf(",\nshaped to a line of %s, whose limit is %.2f Mbit/s with timestamps",
			result.FormatBits(c.o.rate), c.rig.lineLimit(c.steps[len(c.steps)-1])/1e6)
	}
	fmt.Fprintf(v.w, "A file server from as shipped to this machine's limit, in %d steps, over %s.\nAbout %s; Ctrl-C ends it with what was measured.\n\n",
		len(c.steps), where, v.left().Round(time.Second))
	fmt.Fprintf(v.w, ladderRow, "", "get Mbit/s", "MB/s", "put Mbit/s", "MB/s", "CPU s/GiB", "frames/s", "bytes/ACK")
}

// left is the time that the trials not done yet will take.
func (v *ladderView) left() time.Duration {
	const between = 60 * time.Millisecond // log in, end the transfer
	c := v.climb
	n := len(c.steps)*c.o.repeat*2 - v.done
	return time.Duration(n) * (c.o.warm + c.o.watch + between)
}

func (v *ladderView) trial(i int, step ladderStep, direction string, repeat int) {
	fmt.Fprintf(v.progress, "\r\x1b[K%d/%d %s: %s, %d of %d; %s left", i+1, len(v.climb.steps), step.name, direction, repeat+1, v.climb.o.repeat,
		v.left().Round(time.Second))
	v.done++
}

func (v *ladderView) step(i int, step ladderStep, views []explain.View) {
	fmt.Fprint(v.progress, "\r\x1b[K")
	if len(views) == 0 {
		return
	}
	var cells []any
	var cpu, frames, acks, bounds []string
	for _, view := range views {
		mbits, mbytes := "-", "-"
		if g, ok := view.Get(result.Goodput); ok {
			mbits, mbytes = fmt.Sprintf("%.1f", g/1e6), fmt.Sprintf("%.1f", g/8e6)
		}
		cells = append(cells, mbits, mbytes)
		cpu = append(cpu, figure(view, result.CPUPerGiB, "%.2f"))
		frames = append(frames, figure(view, result.FrameRate, ""))
		acks = append(acks, figure(view, result.BytesPerACK, ""))
		bounds = append(bounds, view.Direction+" by "+boundOf(view))
	}
	for len(cells) < 4 { // interrupted before the put
		cells = append(cells, "-", "-")
	}
	row := append([]any{fmt.Sprintf("%d %s", i+1, step.name)}, cells...)
	for _, both := range [][]string{cpu, frames, acks} {
		row = append(row, strings.Join(both, "/"))
	}
	fmt.Fprintf(v.w, ladderRow, row...)
	fmt.Fprintf(v.w, "  bound: %s\n", strings.Join(bounds, ", "))
	for _, line := range userLines(step, views) {
		fmt.Fprintf(v.w, "  %s\n", line)
	}
}

// boundOf names the rule that says what limits a step, with a question mark
// where it only suspects.
func boundOf(v explain.View) string {
	f, ok := ladderBound(v)
	switch {
	case !ok:
		return "what no rule knows"
	case f.Verdict != result.Limits:
		return f.Rule + "?"
	}
	return f.Rule
}

// figure shows a figure of a step, "-" where it could not be measured, in
// thousands or millions where no format is given.
func figure(v explain.View, m result.Metric, format string) string {
	x, ok := v.Get(m)
	switch {
	case !ok:
		return "-"
	case format == "" && x >= 10e6:
		x, format = x/1e6, "%.0fM"
	case format == "" && x >= 10e3:
		x, format = x/1e3, "%.0fk"
	case format == "":
		format = "%.0f"
	}
	return fmt.Sprintf(format, x)
}
