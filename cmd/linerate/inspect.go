package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	measure "github.com/linerate/linerate/internal/run"
	"github.com/linerate/linerate/internal/serve/inspect"
	"github.com/linerate/linerate/internal/wire/filter"
	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/internal/wire/pcap"
	"github.com/linerate/linerate/result"
)

type inspectOptions struct {
	iface, headers, snap, ring, mode, place, direction, file string
	sample, flows                                            int
	limit                                                    float64
	length                                                   time.Duration
}

func newInspect(c cli) *cobra.Command {
	o := &inspectOptions{}
	cmd := &cobra.Command{
		Use:   "inspect -i IF [FILTER...]",
		Short: "Look at an interface's frames in the kernel and let them go on",
		Long: "inspect takes the headers of each frame (split), whole frames (full) or counters only (count), in the\n" +
			"driver or the stack by eBPF; the frames themselves go on untouched. FILTER is an expression of\n" +
			"pcap-filter(7). When the process ends, however it ends, the interface is as before.",
		Example: "  linerate inspect -i eth0 tcp port 80\n  linerate inspect -i eth0 --mode count --time 10s\n" +
			"  linerate inspect -i eth0 --mode full --sample 100 -w sample.pcapng 'udp and greater 1000'\n" +
			"  linerate inspect compare 192.0.2.1 -i eth0 --repeats 3 --out inspect.html",
		Args: cobra.ArbitraryArgs,
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&o.iface, "interface", "i", "", "look at interface `IF`")
	f.StringVar(&o.mode, "mode", "split", "what is taken of a frame: `split` (headers), full or count")
	f.StringVar(&o.headers, "headers", "64", "`BYTES` that split takes, or auto: up to where the payload starts")
	f.StringVar(&o.snap, "snap", "", "most `BYTES` that full takes (default 16 KiB)")
	f.StringVar(&o.direction, "direction", "in", "`in`, out or both")
	f.StringVar(&o.place, "place", "auto", "where: auto, `driver` (XDP) or stack (tcx)")
	f.IntVar(&o.sample, "sample", 1, "take one of `N` matching frames")
	f.Float64Var(&o.limit, "limit", 0, "take at most so many frames per second")
	f.StringVar(&o.ring, "ring", "", "`SIZE` of the ring between kernel and reader (default 8MiB)")
	f.IntVar(&o.flows, "flows", 65536, "flows kept apart")
	f.DurationVarP(&o.length, "time", "t", 0, "how long (default until Ctrl-C)")
	f.StringVarP(&o.file, "write", "w", "", "write what is taken to `FILE` as pcapng")
	out := addOutput(cmd)
	out.text = inspectText
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opts, err := o.options(strings.Join(args, " "))
		if err != nil {
			return err
		}
		r, err := runInspect(cmd.Context(), c, o, opts)
		return out.deliver(c, r, err)
	}
	cmd.AddCommand(newInspectCompare(c))
	return cmd
}

// options makes those of the inspector from the flags.
func (o *inspectOptions) options(expression string) (inspect.Options, error) {
	opts := inspect.Options{Mode: inspect.Mode(o.mode), Filter: expression, Place: inspect.Place(o.place), Direction: inspect.Direction(o.direction),
		Sample: o.sample, Limit: o.limit, Flows: o.flows}
	if o.iface == "" {
		return opts, usagef("which interface? -i IF")
	}
	if _, err := filter.Compile(expression, frame.LinkEthernet); err != nil {
		return opts, filterError(expression, err)
	}
	if o.headers == "auto" {
		opts.Protocol = true
	} else if n, err := strconv.Atoi(o.headers); err == nil {
		opts.Headers = n
	} else {
		return opts, usagef("--headers %q: want a number of bytes, or auto", o.headers)
	}
	err := errors.Join(
		size("--snap", o.snap, func(n int64) { opts.Snap = int(n) }),
		size("--ring", o.ring, func(n int64) { opts.Ring = int(n) }))
	if err == nil {
		err = opts.Check()
	}
	switch {
	case err != nil:
		return opts, usagef("%v", err)
	case o.length < 0:
		return opts, usagef("--time %s: want more than 0", o.length)
	case o.file != "" && opts.Mode == inspect.Count:
		return opts, usagef("--write: count mode takes nothing of a frame to write; use split or full")
	}
	return opts, nil
}

// filterError shows the expression with a mark under the place that is wrong.
func filterError(expression string, err error) error {
	e, ok := errors.AsType[*filter.Error](err)
	if !ok || strings.ContainsAny(expression, "\n\t") {
		return usagef("%v", err)
	}
	return usagef("%v\n  %s\n  %s^", err, expression, strings.Repeat(" ", e.Column-1))
}

func runInspect(ctx context.Context, c cli, o *inspectOptions, opts inspect.Options) (r *result.Result, err error) {
	i, err := inspect.Attach(o.iface, opts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	take, finish, err := o.writer(opts)
	if err != nil {
		return nil, err
	}
	s := inspect.NewSession(i, o.iface, opts, o.length, take)
	live := &flowView{out: c.err, session: s, where: i.Where}
	r, err = measure.Record(ctx, s, measure.Options{
		Meters: hostMeters(), Ends: []result.End{thisEnd("dut", o.iface)}, Sinks: []measure.Sink{live},
	})
	n, countErr := i.Counts()
	err = errors.Join(err, countErr, finish(n))
	if r == nil {
		return nil, err
	}
	totals, totalsErr := s.Totals()
	r.Totals = append(totals, slices.DeleteFunc(grown(r), func(v result.Value) bool { return strings.HasPrefix(v.Metric, "inspect_") })...)
	return r, errors.Join(err, totalsErr)
}

// writer opens the file that the flags ask for. finish closes it with the
// counters.
func (o *inspectOptions) writer(opts inspect.Options) (take func(*inspect.Record) error, finish func(inspect.Counts) error, err error) {
	if o.file == "" {
		return nil, func(inspect.Counts) error { return nil }, nil
	}
	f, err := os.Create(o.file)
	if err != nil {
		return nil, nil, fmt.Errorf("--write: %w", err)
	}
	w, err := pcap.NewNGWriter(f, pcap.NGOptions{Link: frame.LinkEthernet, Snap: opts.MostBytes(), Interface: o.iface, Filter: opts.Filter, Application: "linerate"})
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	take = func(r *inspect.Record) error { return w.Write(r.At.UnixNano(), r.Data, r.Length, r.Outgoing) }
	finish = func(n inspect.Counts) error {
		return errors.Join(w.Close(time.Now().UnixNano(), n.Seen, n.Lost, n.Matched), f.Close())
	}
	return take, finish, nil
}
