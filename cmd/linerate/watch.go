package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/meter/cpu"
	"github.com/linerate/linerate/internal/meter/irq"
	"github.com/linerate/linerate/internal/meter/napi"
	"github.com/linerate/linerate/internal/meter/nic"
	"github.com/linerate/linerate/internal/meter/nstat"
	"github.com/linerate/linerate/internal/meter/softnet"
	measure "github.com/linerate/linerate/internal/run"
	"github.com/linerate/linerate/result"
)

type watchOptions struct {
	interfaces []string
	netns      string
	every      time.Duration
	json, once bool
	napi       bool
}

func newWatch(c cli) *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Watch interfaces, cores and TCP live",
		Long: "watch shows what each interface moves both ways, what each core spends its time on, which\n" +
			"interrupts come, and what the kernel drops or sends again.\n\n" +
			"Rates are those of frames without FCS; the share of the line counts preamble, FCS and gap\n" +
			"too. --json prints one reading a line: cumulative counters under the names of the metric\n" +
			"table, for a program to take differences of.",
		Example: "  linerate watch\n  linerate watch -i eth0 --once\n  linerate watch --json --every 5s > readings.jsonl",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runWatch(cmd.Context(), c, o) },
	}
	f := cmd.Flags()
	f.StringSliceVarP(&o.interfaces, "interface", "i", nil, "watch interface `IF` only; may be repeated")
	f.StringVar(&o.netns, "netns", "", "watch the network namespace `NAME`")
	f.DurationVar(&o.every, "every", time.Second, "time between readings")
	f.BoolVar(&o.json, "json", false, "print readings as lines of JSON")
	f.BoolVar(&o.napi, "napi", false, "also count polls, and with --once show the last poll calls of each core (needs root)")
	f.BoolVar(&o.once, "once", false, "print one interval as text, or with --json one reading, and end")
	return cmd
}

func runWatch(ctx context.Context, c cli, o watchOptions) error {
	if o.every < 10*time.Millisecond {
		return usagef("--every %s: want 10ms or more", o.every)
	}
	h, done, err := openHost("", o.netns)
	if err != nil {
		return err
	}
	defer done()
	w, err := newWatcher(h, o)
	if err != nil {
		return err
	}
	if o.napi {
		if w.polls, err = napi.Open(callsKept); err != nil {
			return err
		}
		defer w.polls.Close()
		w.meters = append(w.meters, w.polls)
	}
	switch {
	case o.json:
		return w.stream(ctx, c.out)
	case o.once:
		return w.onceAsText(ctx, c)
	case !isTerminal(c.out):
		return usagef("watch needs a terminal; elsewhere use --once or --json")
	}
	_, err = tea.NewProgram(newWatchModel(ctx, w), tea.WithContext(ctx), tea.WithInput(c.in), tea.WithOutput(c.out)).Run()
	if ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted) {
		return nil // the user stopped it
	}
	return err
}

// watcher reads the meters of one host.
type watcher struct {
	watchOptions
	title  string
	speed  map[string]float64 // bit/s by interface, where the driver tells
	meters []measure.Meter
	start  time.Time
	gaps   []result.Gap
	polls  *napi.Meter // nil without --napi
}

func newWatcher(h host.Host, o watchOptions) (*watcher, error) {
	all, err := nic.Interfaces(h)
	if err != nil {
		return nil, err
	}
	for _, name := range o.interfaces {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("watch: no interface %s; there are %v", name, all)
		}
	}
	names := o.interfaces
	if len(names) == 0 {
		names = all
	}
	facts, _ := host.Describe(h, names...)
	w := &watcher{watchOptions: o, speed: map[string]float64{}, start: time.Now()}
	w.title = "Linux " + facts["kernel"]
	for _, name := range names {
		if v, err := result.ParseRate(facts["speed@"+name]); err == nil {
			w.speed[name] = v
		}
	}
	w.meters = []measure.Meter{nic.Meter{Host: h, Interfaces: o.interfaces}, cpu.Meter{Host: h}, irq.Meter{Host: h}, softnet.Meter{Host: h}, nstat.Meter{Host: h}}
	return w, nil
}

// read takes one reading. A meter that fails is read no more; the rest go on.
func (w *watcher) read(ctx context.Context) result.Reading {
	r := result.Reading{At: time.Since(w.start)}
	w.meters = slices.DeleteFunc(w.meters, func(m measure.Meter) bool {
		vs, err := m.Read(ctx)
		if err != nil {
			w.gaps = append(w.gaps, result.Gap{Source: m.Name(), Reason: err.Error()})
			return true
		}
		r.Values = append(r.Values, vs...)
		return false
	})
	return r
}

// stream prints readings until ctx ends or, with --once, one.
func (w *watcher) stream(ctx context.Context, out io.Writer) error {
	enc := json.NewEncoder(out)
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		if err := enc.Encode(w.read(ctx)); err != nil {
			return err
		}
		if w.once {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// onceAsText shows one interval.
func (w *watcher) onceAsText(ctx context.Context, c cli) error {
	before := w.read(ctx)
	select {
	case <-time.After(w.every):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	now := w.read(ctx)
	v := newInterval(before, now)
	for _, g := range w.gaps {
		fmt.Fprintf(c.err, "%s cannot be read: %s\n", g.Source, g.Reason)
	}
	if _, err := lipgloss.Fprint(c.out, v.render(w, nil)); err != nil || w.polls == nil {
		return err
	}
	napiText(c.out, result.Delta(before.Values, now.Values), now.At-before.At)
	calls, err := w.polls.Calls()
	if err != nil {
		return err
	}
	return callsText(c.out, calls)
}
