package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/serve/inspect"
	"github.com/linerate/linerate/internal/wire/filter"
	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/result"
)

// inspectionParam says what a trial took of the frames: off, split or full.
const inspectionParam = "inspection"

type compareOptions struct {
	iface, filter, place string
	modes                []string
	ring                 string
	stream               *streamFlags
}

func newInspectCompare(c cli) *cobra.Command {
	o := &compareOptions{stream: &streamFlags{every: time.Second}}
	cmd := &cobra.Command{
		Use:   "compare HOST[:PORT] -i IF [FILTER...]",
		Short: "Measure what inspection costs, by message size",
		Long: "compare measures TCP to and from 'linerate serve stream' (or iperf3 -s) at HOST for each message size,\n" +
			"without inspection, with headers taken and with whole frames taken, in turn: the comparison of the Zynq\n" +
			"packet processor's report. Sent frames are inspected in the stack, received ones as --place says.",
		Example: "  linerate inspect compare 192.0.2.1 -i eth0 --repeats 3 --out inspect.html",
		Args:    cobra.MinimumNArgs(1),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&o.iface, "interface", "i", "", "inspect interface `IF` (default the one towards HOST)")
	f.StringVar(&o.stream.sweep, "sweep", "zynq", "message `SIZES` such as 64,512,1500; \"zynq\" is 64 to 1500")
	f.StringSliceVar(&o.modes, "modes", []string{"off", "split", "full"}, "what to compare: off, split, full, count")
	f.StringVar(&o.stream.direction, "direction", "tx,rx", "ways of the payload: `tx`, rx or both in turn")
	f.IntVar(&o.stream.repeats, "repeats", 1, "measure so many times, all points in turn")
	f.DurationVarP(&o.stream.test.Duration, "time", "t", 2*time.Second, "how long each point is measured")
	f.StringVarP(&o.stream.test.Socket.Congestion, "congestion", "C", "", "congestion control `ALGORITHM`; one that paces (bbr) hides what inspection costs")
	f.StringVar(&o.place, "place", "auto", "where received frames are inspected: auto, `driver` or stack")
	f.StringVar(&o.ring, "ring", "", "`SIZE` of the ring between kernel and reader (default 8MiB)")
	out := addOutput(cmd)
	out.text = compareText
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.filter = strings.Join(args[1:], " ")
		r, err := o.run(cmd.Context(), args[0])
		return out.deliver(c, r, err)
	}
	return cmd
}

func (o *compareOptions) run(ctx context.Context, target string) (*result.Result, error) {
	if _, err := filter.Compile(o.filter, frame.LinkEthernet); err != nil {
		return nil, filterError(o.filter, err)
	}
	for _, mode := range o.modes {
		if !slices.Contains([]string{"off", "split", "full", "count"}, mode) {
			return nil, usagef("--modes %q: want off, split, full or count", mode)
		}
	}
	ways := strings.Split(o.stream.direction, ",")
	o.stream.direction = "tx"
	t, err := o.stream.fill(stream.TCP)
	if err != nil {
		return nil, err
	}
	sizes, err := o.stream.sizes(t)
	if err != nil {
		return nil, err
	}
	if o.iface == "" {
		if _, o.iface = localInterface(withPort(target, 1)); o.iface == "" {
			return nil, usagef("which interface leads to %s? -i IF", target)
		}
	}
	l, err := lineTo(target, "")
	if err != nil {
		return nil, err
	}
	d, err := o.stream.peer(target, t)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	r := &result.Result{Schema: result.SchemaID, ID: result.NewID(start), Origin: result.Measured, Start: start, Workload: t.Spec(d.Name(), target), Ending: result.Completed}
	r.Workload.Kind = "inspect.compare"
	delete(r.Workload.Params, "message")
	for repeat := range o.stream.repeats {
		for _, n := range sizes {
			for _, way := range ways {
				for _, mode := range o.modes {
					t.Message, t.Direction = n, stream.Direction(strings.TrimSpace(way))
					if err := o.point(ctx, r, target, t, l, mode, repeat); err != nil || ctx.Err() != nil {
						return compared(r, errors.Join(err, context.Cause(ctx)))
					}
				}
			}
		}
	}
	return compared(r, nil)
}

// point measures one size and direction with one kind of inspection.
func (o *compareOptions) point(ctx context.Context, r *result.Result, target string, t stream.Test, l line, mode string, repeat int) error {
	stop, err := o.inspect(ctx, t.Direction, mode)
	if err != nil {
		return err
	}
	one, err := o.stream.trial(ctx, target, t, l)
	values, stopErr := stop()
	if one == nil {
		return errors.Join(err, stopErr)
	}
	o.stream.add(r, one, t, repeat)
	trial := &r.Trials[len(r.Trials)-1]
	trial.Params[inspectionParam] = mode
	trial.Values = append(trial.Values, values...)
	return errors.Join(err, stopErr)
}

// inspect begins what a mode takes; stop ends it and returns its counters.
func (o *compareOptions) inspect(ctx context.Context, way stream.Direction, mode string) (stop func() ([]result.Value, error), err error) {
	if mode == "off" {
		return func() ([]result.Value, error) { return nil, nil }, nil
	}
	opts := inspect.Options{Mode: inspect.Mode(mode), Filter: o.filter, Place: inspect.Place(o.place), Direction: inspect.In}
	if err := size("--ring", o.ring, func(n int64) { opts.Ring = int(n) }); err != nil {
		return nil, err
	}
	if way == stream.Transmit {
		opts.Direction, opts.Place = inspect.Out, inspect.Stack
	}
	if err := opts.Check(); err != nil {
		return nil, usagef("%v", err)
	}
	i, err := inspect.Attach(o.iface, opts)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	s := inspect.NewSession(i, o.iface, opts, 0, nil)
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() ([]result.Value, error) {
		end()
		err := <-done
		vs, readErr := s.Read(context.WithoutCancel(ctx))
		return vs, errors.Join(err, readErr, i.Close())
	}, nil
}
