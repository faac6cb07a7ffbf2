package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/serve/reflect"
	"github.com/linerate/linerate/result"
)

func newServeReflect(c cli) *cobra.Command {
	o := &reflectOptions{}
	cmd := &cobra.Command{
		Use:   "reflect",
		Short: "Send test frames back to the tester",
		Long: `reflect turns test frames round at the driver: addresses and ports change places. All other traffic
goes to the stack as before. ARP and neighbour solicitations are answered for --address, and on an
interface without any address for all benchmark addresses. Ctrl-C ends it and gives the counts.`,
		Example: `  linerate serve reflect -i eth0
  linerate serve reflect -i eth0 --address 198.19.1.0/24 --latency
  linerate serve reflect -i eth0 --via eth1 --next-hop 02:00:5e:10:00:01     # two arms`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runReflect(cmd.Context(), c, o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.in, "interface", "i", "", "reflect on interface `IF`")
	f.StringVar(&o.arm, "via", "", "second arm: send back out of `IF` instead")
	f.StringVar(&o.hop, "next-hop", "", "`MAC` to send to with --via")
	f.StringSliceVar(&o.addresses, "address", nil, "answer ARP and neighbour solicitations for `PREFIXES`, as 198.19.1.0/24")
	f.BoolVar(&o.any, "any", false, "also reflect UDP to the echo port without our signature, as other testers send")
	f.BoolVar(&o.latency, "latency", false, "measure how long stamped frames take to come here; the tester must run on this host")
	f.StringVar(&o.port, "port", "auto", "auto, live (in the driver or stack by XDP) or packet (AF_PACKET)")
	o.output = addOutput(cmd)
	return cmd
}

type reflectOptions struct {
	in, arm, hop, port string
	addresses          []string
	any, latency       bool
	output             *output
}

// parse makes the reflector's options.
func (o *reflectOptions) parse() (reflect.Options, error) {
	opts := reflect.Options{Any: o.any, Out: o.arm, Latency: o.latency}
	if o.in == "" {
		return opts, usagef("which interface? -i IF")
	}
	if (o.arm == "") != (o.hop == "") {
		return opts, usagef("--via and --next-hop go together: the second arm, and who is there")
	}
	if o.hop != "" {
		mac, err := net.ParseMAC(o.hop)
		if err != nil {
			return opts, usagef("--next-hop: %v", err)
		}
		opts.NextHop = mac
	}
	for _, a := range o.addresses {
		p, err := netip.ParsePrefix(a)
		if addr, single := netip.ParseAddr(a); err != nil && single == nil {
			p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return opts, usagef("--address: %v", err)
		}
		opts.Addresses = append(opts.Addresses, p)
	}
	return opts, nil
}

// answered adds, on an interface without addresses, the benchmark ranges.
func answered(ifi *net.Interface, given []netip.Prefix) []netip.Prefix {
	own, err := ifi.Addrs()
	if err != nil || len(given) > 0 {
		return given
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
			return nil
		}
	}
	return benchmarkRanges()
}

func runReflect(ctx context.Context, c cli, o *reflectOptions) error {
	opts, err := o.parse()
	if err != nil {
		return err
	}
	ifi, err := net.InterfaceByName(o.in)
	if err != nil {
		return fmt.Errorf("%s: %w", o.in, err)
	}
	opts.Addresses = answered(ifi, opts.Addresses)
	switch o.port {
	case "auto", "live":
		r, err := reflect.Attach(o.in, opts)
		if err == nil {
			return o.byXDP(ctx, c, ifi, r, opts)
		}
		if o.port == "live" {
			return err
		}
		fmt.Fprintf(c.err, "%v; reflecting in user space instead\n", err)
	case "packet":
	default:
		return usagef("--port %s: want auto, live or packet", o.port)
	}
	return o.byPort(ctx, c, ifi, opts)
}

// byXDP shows what is reflected once a second until ctx ends.
func (o *reflectOptions) byXDP(ctx context.Context, c cli, ifi *net.Interface, r *reflect.Reflector, opts reflect.Options) (err error) {
	defer func() { err = errors.Join(err, r.Close()) }()
	p, err := port.OpenRaw(o.in)
	if err != nil {
		return err
	}
	start := time.Now()
	answering := make(chan error, 1)
	go func() { answering <- errors.Join(port.Answer(ctx, p, ifi.HardwareAddr, opts.Has), p.Close()) }()
	fmt.Fprintf(c.err, "reflecting on %s, XDP in the %s; Ctrl-C stops\n", o.in, r.Mode)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var last reflect.Counts
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case err := <-answering:
			if err != nil {
				return fmt.Errorf("answer ARP and neighbour solicitations: %w", err)
			}
		case <-tick.C:
			n, err := r.Counts()
			if err != nil {
				return err
			}
			if n.Frames != last.Frames {
				fmt.Fprintf(c.err, "%d frame/s\n", n.Frames-last.Frames)
			}
			last = n
		}
	}
	n, err := r.Counts()
	return o.deliver(c, start, "XDP in the "+r.Mode, n, err)
}

func (o *reflectOptions) byPort(ctx context.Context, c cli, ifi *net.Interface, opts reflect.Options) error {
	in, err := port.OpenRaw(o.in)
	if err != nil {
		return err
	}
	defer in.Close()
	arms := reflect.Arms{In: in, Out: in, InMAC: ifi.HardwareAddr, OutMAC: ifi.HardwareAddr}
	if o.arm != "" {
		second, err := net.InterfaceByName(o.arm)
		if err != nil {
			return fmt.Errorf("%s: %w", o.arm, err)
		}
		if arms.Out, err = port.OpenRaw(o.arm); err != nil {
			return err
		}
		defer arms.Out.Close()
		arms.OutMAC = second.HardwareAddr
	}
	start := time.Now()
	fmt.Fprintf(c.err, "reflecting on %s in user space; Ctrl-C stops\n", in.Info().Name)
	n, err := reflect.Serve(ctx, arms, opts)
	return o.deliver(c, start, in.Info().Name, n, err)
}

// deliver gives what was reflected as a Result.
func (o *reflectOptions) deliver(c cli, start time.Time, how string, n reflect.Counts, err error) error {
	r := &result.Result{ID: result.NewID(start), Origin: result.Measured, Start: start, Duration: time.Since(start), Ending: result.Completed,
		Workload: result.Workload{Kind: "reflect", Params: map[string]string{"interface": o.in, "arm": o.arm}},
		Ends:     []result.End{{Role: "reflector", Host: hostname(), Facts: map[string]string{"by": how}}}, Totals: n.Values()}
	if n.OtherClock > 0 {
		r.Gaps = append(r.Gaps, result.Gap{Source: "one-way latency", Reason: fmt.Sprintf("%d stamps are of another clock: tester and reflector are not on one host; measure the round trip", n.OtherClock)})
	}
	if err != nil {
		r.Ending, r.Error = result.Failed, err.Error()
	}
	return o.output.deliver(c, r, err)
}
