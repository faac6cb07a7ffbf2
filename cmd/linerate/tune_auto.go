package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/explain"
	"github.com/linerate/linerate/internal/lever/auto"
	"github.com/linerate/linerate/internal/meter/napi"
	measure "github.com/linerate/linerate/internal/run"
	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/result"
)

// patience is how long a measurement may take beside what it measures, and
// deadPatience once one was given up: long enough for a second SYN
// (RFC 6298 2.1).
const (
	patience     = 3 * time.Second
	deadPatience = 1200 * time.Millisecond
)

// trialTime is how long one measurement of tune auto takes unless --time says.
const trialTime = 2 * time.Second

func newTuneAuto(c cli, t *tuneOptions) *cobra.Command {
	o := &autoOptions{tuneOptions: t}
	cmd := &cobra.Command{
		Use:   "auto URL",
		Short: "Find what bounds a link, try its settings one by one and keep what helps",
		Long: `auto measures the link by the workload that the URL names (tcp://HOST, udp://HOST with --rate, both served by
'linerate serve stream', iperf3 -s or netserver), explains what bounds it, turns the first setting that the explanation
names and measures again, with and without it in turn (ABBA). A setting stays only where the pairs show less loss, less
time in softirqs for each packet or more goodput than pairs show in which nothing was changed; else it is put back.

Every change is in the journal before it is made. If this process dies, another puts everything back; in the end what was
kept undoes itself unless you run 'linerate tune confirm' in time. Advice that is no setting here is printed to be followed
by hand. The settings of an application, such as the size of its writes, are tried on the workload in its place.

With --agent the other end's settings are turned too, and it serves the workload where the URL names no port; with
tcp://HOST the agent is usually HOST as well.`,
		Example: "  linerate tune auto tcp://192.0.2.1\n  linerate tune auto udp://192.0.2.1 --rate 25kpps --direction rx\n" +
			"  linerate tune auto tcp://192.0.2.1 --keep -o tuned.html\n  linerate tune auto tcp://192.0.2.1 --agent 192.0.2.1",
		Args: nArgs("URL"),
	}
	out := addOutput(cmd)
	o.stream = addStream(cmd)
	f := cmd.Flags()
	f.BoolVarP(&o.stream.test.Socket.NoDelay, "nodelay", "N", false, "no Nagle's algorithm: each message leaves at once")
	f.BoolVar(&o.stream.test.NoOffload, "no-offload", false, "no UDP segmentation and coalescing by the kernel (GSO, GRO)")
	f.IntVar(&o.pairs, "pairs", auto.DefaultPairs, "measure `N` times with and without each change")
	f.IntVar(&o.steps, "steps", auto.DefaultSteps, "try at most `N` changes")
	f.StringVarP(&o.iface, "interface", "i", "", "the interface whose settings are meant (default the one towards HOST)")
	f.StringVar(&o.peerNetns, "peer-netns", "", "the other end is in the network namespace `NAME` of this box: turn its settings too")
	f.BoolVar(&o.keep, "keep", false, "keep what helps without confirmation")
	f.DurationVar(&o.within, "confirm-within", 2*time.Minute, "time to run 'tune confirm' before everything is put back")
	for _, name := range []string{"sweep", "repeats", "meter", "preset", "iperf3-json", "get-server-output", "title", "extra-data", "bidir"} {
		cmd.Flags().Lookup(name).Hidden = true // of single benches
	}
	out.text = autoText
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.json = out.json
		r, err := o.run(cmd.Context(), c, args[0])
		return out.deliver(c, r, err)
	}
	return cmd
}

// autoOptions are the flags of tune auto.
type autoOptions struct {
	*tuneOptions
	stream           *streamFlags
	pairs, steps     int
	iface, peerNetns string
	keep, json       bool
	within           time.Duration
}

func (o *autoOptions) run(ctx context.Context, c cli, rawURL string) (*result.Result, error) {
	bench, err := o.open(rawURL)
	if err != nil {
		return nil, err
	}
	defer bench.close()
	if err := o.recover(ctx, c); err != nil {
		return nil, err
	}
	ends, err := o.boxes(bench)
	if err != nil {
		return nil, err
	}
	defer ends.close()
	show := &autoView{w: c.out}
	if o.json {
		show.w = io.Discard
	}
	show.begin(bench.target)
	loop := auto.Loop{
		Bench: bench, Boxes: ends.all(bench), Pairs: o.pairs, Steps: o.steps, Watch: show.event,
		Explain: func(r *result.Result) []result.Finding { return explain.Hypotheses(explain.Explain(r)) },
	}
	r, err := loop.Run(ctx)
	if err != nil || r.Ending != result.Completed {
		return r, errors.Join(err, ends.undo(context.WithoutCancel(ctx), c))
	}
	r.Ends = bench.ends()
	return r, ends.finish(context.WithoutCancel(ctx), c, o, r)
}

// autoBench measures by one bench, again and again.
type autoBench struct {
	flags  *streamFlags
	target string
	test   stream.Test
	line   line
	ifname string
	napi   *napi.Meter // nil where the kernel cannot
	gap    *result.Gap // why not
	far    *otherEnd   // nil: only this end is known
	last   []result.End
	dead   bool // a measurement was given up
}

// open reads the URL and the flags.
func (o *autoOptions) open(rawURL string) (*autoBench, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return nil, usagef("tune auto: %q: want tcp://HOST[:PORT] or udp://HOST[:PORT]", rawURL)
	}
	protocols := map[string]stream.Protocol{"tcp": stream.TCP, "udp": stream.UDP}
	p, ok := protocols[u.Scheme]
	if !ok {
		return nil, usagef("tune auto: %s://: want tcp:// or udp://", u.Scheme)
	}
	if o.pairs < 3 || o.pairs > 100 || o.steps < 0 {
		return nil, usagef("tune auto: --pairs wants 3 to 100, --steps 0 or more")
	}
	s := o.stream
	s.test.Duration = cmp.Or(s.test.Duration, trialTime)
	if p == stream.UDP {
		if s.rate, err = packetRate(s.rate, s.message); err != nil {
			return nil, err
		}
	}
	b := &autoBench{flags: s, target: u.Host}
	if b.test, err = s.fill(p); err != nil {
		return nil, err
	}
	if b.line, err = lineTo(b.target, s.line); err != nil {
		return nil, err
	}
	_, b.ifname = localInterface(withPort(b.target, 1))
	b.ifname = cmp.Or(o.iface, b.ifname)
	if b.napi, err = napi.Open(1); err != nil {
		b.napi, b.gap = nil, &result.Gap{Source: "napi", Reason: err.Error() + "; time per packet is taken from the kernel's ticks"}
	}
	return b, nil
}

func (b *autoBench) close() {
	if b.napi != nil {
		b.napi.Close() // detaching cannot be helped by the user
	}
}

// Measure runs the bench once, with what the other end counts where it is known.
func (b *autoBench) Measure(ctx context.Context) (*result.Result, error) {
	d, err := b.flags.peer(b.target, b.test)
	if err != nil {
		return nil, err
	}
	var more []measure.Meter
	if b.napi != nil {
		more = append(more, b.napi)
	}
	before, err := b.far.read(ctx)
	if err != nil {
		return nil, err
	}
	// A link that no longer answers must not hold the next measurement up.
	wait := patience
	if b.dead {
		wait = deadPatience
	}
	trial, cancel := context.WithTimeoutCause(ctx, b.test.Omit+b.test.Duration+wait, errors.New("the link did not carry the workload in time"))
	defer cancel()
	r, _, err := record(trial, d, b.target, b.test, time.Hour, more...)
	if ctx.Err() == nil && trial.Err() != nil {
		b.dead = true
		err = errors.Join(err, context.Cause(trial))
	}
	if r == nil {
		return nil, err
	}
	after, farErr := b.far.read(ctx)
	r.Totals = append(r.Totals, result.Delta(before, after)...)
	if limit := b.line.limit(b.test); limit > 0 {
		r.Totals = append(r.Totals, result.LineLimit.Of(limit))
	}
	if b.gap != nil {
		r.Gaps = append(r.Gaps, *b.gap)
	}
	farErr = errors.Join(farErr, b.far.into(ctx, r))
	b.last = r.Ends
	return r, errors.Join(err, farErr)
}

func (b *autoBench) ends() []result.End { return b.last }

// roles says which of the ends sends: ours, and the other.
func (b *autoBench) roles() (ours, theirs string) {
	if b.test.Direction == stream.Receive {
		return "receiver", "sender"
	}
	return "sender", "receiver"
}

// packetRate takes a rate in packets a second, "25kpps", as bits of payload.
func packetRate(rate, message string) (string, error) {
	number, ok := cutPPS(rate)
	if !ok {
		return rate, nil
	}
	bytes := int64(stream.DefaultDatagram)
	if err := size("--message", message, func(n int64) { bytes = n }); err != nil {
		return "", err
	}
	pps, err := result.ParseRate(number + "bit/s") // the prefixes are the same
	if err != nil {
		return "", usagef("--rate %s: want packets a second, such as 25kpps", rate)
	}
	return fmt.Sprintf("%.0fbit/s", pps*8*float64(bytes)), nil
}
