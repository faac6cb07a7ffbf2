package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/internal/workload/generator"
	"github.com/linerate/linerate/result"
)

// testerOptions say where a tester of frames is connected and what it sends.
type testerOptions struct {
	out, in        string // interfaces
	port           string
	line           string
	sizes          string
	imix           bool
	src, dst       string
	via, dstMAC    string
	vlan           int
	flows, hosts   int
	iKnow          bool
	lineRate       float64 // bit/s, from line or the interface
	frameSizes     []int
	source, target netip.Addr
}

func addTester(cmd *cobra.Command) *testerOptions {
	o := &testerOptions{}
	f := cmd.Flags()
	f.StringVarP(&o.out, "interface", "i", "", "send out of interface `IF`")
	f.StringVar(&o.in, "in", "", "count what comes in at `IF` (default: the same, for a reflector)")
	f.StringVar(&o.port, "port", "auto", "how to send and count: auto, live (frames made in the kernel), xdp (AF_XDP), packet (AF_PACKET)")
	f.StringVar(&o.line, "line", "", "`RATE` of the line where the interface does not tell, such as 1Gbit")
	f.StringVar(&o.sizes, "size", "64,128,256,512,1024,1280,1518", "frame `SIZES` in bytes with FCS")
	f.BoolVar(&o.imix, "imix", false, "a mix of 64, 594 and 1518 bytes, 7:4:1, instead of --size")
	f.StringVar(&o.src, "src", "198.18.1.2", "source `ADDRESS`")
	f.StringVar(&o.dst, "dst", "198.19.1.2", "destination `ADDRESS`, the first of --hosts")
	f.StringVar(&o.via, "via", "", "`ADDRESS` of the device under test on the sending side (default: the destination)")
	f.StringVar(&o.dstMAC, "dst-mac", "", "`MAC` to send to, instead of asking for --via")
	f.IntVar(&o.vlan, "vlan", 0, "VLAN `TAG`")
	f.IntVar(&o.flows, "flows", 1, "number of flows, a power of two up to 65536")
	f.IntVar(&o.hosts, "hosts", 1, "number of destination addresses, a power of two")
	f.BoolVar(&o.iKnow, "i-know", false, "send to addresses outside the benchmark ranges (RFC 6815)")
	return o
}

// check completes the options, before anything is sent.
func (o *testerOptions) check() error {
	var err1, err2 error
	o.source, err1 = netip.ParseAddr(o.src)
	o.target, err2 = netip.ParseAddr(o.dst)
	if err := errors.Join(err1, err2); err != nil {
		return usagef("--src, --dst: %v", err)
	}
	if o.out == "" {
		return usagef("which interface? -i IF sends, --in IF counts; 'linerate doctor' lists what each can do")
	}
	if o.in == "" {
		o.in = o.out
	}
	// RFC 6815: such tests have no place in a production network.
	for _, a := range []netip.Addr{o.source, o.target} {
		if !o.iKnow && !benchmark(a) {
			return usagef("%v is not an address for benchmarks (198.18.0.0/15, 2001:2::/48): test traffic at line rate stops a network that others use (RFC 6815); --i-know sends it all the same", a)
		}
	}
	if err := o.parseSizes(); err != nil {
		return err
	}
	return o.parseLine()
}

func benchmark(a netip.Addr) bool {
	for _, p := range []string{"198.18.0.0/15", "2001:2::/48"} {
		if netip.MustParsePrefix(p).Contains(a) {
			return true
		}
	}
	return false
}

func (o *testerOptions) parseSizes() error {
	if o.imix {
		return nil
	}
	for s := range strings.SplitSeq(o.sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil {
			return usagef("--size %q: want bytes with FCS, such as 64,512,1518", o.sizes)
		}
		o.frameSizes = append(o.frameSizes, n)
	}
	return nil
}

func (o *testerOptions) parseLine() error {
	if o.line != "" {
		v, err := result.ParseRate(o.line)
		if err != nil || v <= 0 {
			return usagef("--line: %v", err)
		}
		o.lineRate = v
		return nil
	}
	rate, _, ok := lineOf(o.out)
	if !ok {
		return usagef("%s does not tell its line rate: give --line, such as --line 1Gbit", o.out)
	}
	o.lineRate = rate
	return nil
}

// sizesInTurn lists what is tested one after another: each size alone, or the
// mix.
func (o *testerOptions) sizesInTurn() [][]int {
	if o.imix {
		return [][]int{generator.IMIX()}
	}
	var out [][]int
	for _, n := range o.frameSizes {
		out = append(out, []int{n})
	}
	return out
}

// rig is a tester connected to its device.
type rig struct {
	o       *testerOptions
	profile generator.Profile
	sender  generator.Sender
	sink    generator.Receiver
	close   []func() error
}

// openRig finds the device, answers for the addresses that are ours, and
// proves that frames come through.
func openRig(ctx context.Context, o *testerOptions, sizes []int) (*rig, error) {
	r := &rig{o: o}
	err := r.open(ctx, sizes)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *rig) open(ctx context.Context, sizes []int) error {
	o := r.o
	out, err := net.InterfaceByName(o.out)
	if err != nil {
		return fmt.Errorf("%s: %w", o.out, err)
	}
	if err := r.answer(ctx, o.out, o.source, 1); err != nil {
		return err
	}
	if o.in != o.out {
		if err := r.answer(ctx, o.in, o.target, o.hosts); err != nil {
			return err
		}
	}
	mac, err := r.device(ctx, out)
	if err != nil {
		return err
	}
	r.profile = generator.Profile{Sizes: sizes, Source: out.HardwareAddr, Dest: mac, SourceIP: o.source, DestIP: o.target,
		VLAN: o.vlan, Flows: o.flows, Hosts: o.hosts, StampEvery: 64}
	return r.connect(ctx)
}

// device returns the MAC address to send to.
func (r *rig) device(ctx context.Context, out *net.Interface) (net.HardwareAddr, error) {
	if r.o.dstMAC != "" {
		mac, err := net.ParseMAC(r.o.dstMAC)
		if err != nil {
			return nil, usagef("--dst-mac: %v", err)
		}
		return mac, nil
	}
	next := r.o.target
	if r.o.via != "" {
		var err error
		if next, err = netip.ParseAddr(r.o.via); err != nil {
			return nil, usagef("--via: %v", err)
		}
	}
	p, err := port.OpenRaw(r.o.out)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	mac, err := port.Resolve(ctx, p, out.HardwareAddr, r.o.source, next)
	if errors.Is(err, port.ErrNoNeighbour) {
		return nil, fmt.Errorf("%w: is the device up and does it have that address? --via names another, --dst-mac asks nobody", err)
	}
	return mac, err
}

// answer answers on an interface for n addresses from first on, so that the
// device finds its neighbour without any set-up.
func (r *rig) answer(ctx context.Context, ifname string, first netip.Addr, n int) error {
	ifi, err := net.InterfaceByName(ifname)
	if err != nil {
		return fmt.Errorf("%s: %w", ifname, err)
	}
	p, err := port.OpenRaw(ifname)
	if err != nil {
		return err
	}
	last := first
	for range n - 1 {
		last = last.Next()
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- port.Answer(ctx, p, ifi.HardwareAddr, func(a netip.Addr) bool { return a.Compare(first) >= 0 && a.Compare(last) <= 0 })
	}()
	r.close = append(r.close, func() error { stop(); return errors.Join(<-done, p.Close()) })
	return nil
}

// way is one pair of sender and receiver.
type way struct {
	name string
	send func() (generator.Sender, error)
	sink func() (generator.Receiver, error)
}

func (r *rig) ways() []way {
	o := r.o
	kernelSink := func() (generator.Receiver, error) { return generator.OpenSink(o.in, o.flows) }
	over := func(open func() (port.Port, error)) func() (generator.Sender, error) {
		return func() (generator.Sender, error) {
			p, err := open()
			if err != nil {
				return nil, err
			}
			s, err := generator.NewPorted(p, r.profile)
			if err != nil {
				return nil, errors.Join(err, p.Close())
			}
			return s, nil
		}
	}
	raw := func() (port.Port, error) { return port.OpenRaw(o.out) }
	return []way{
		{"live", func() (generator.Sender, error) { return generator.OpenLive(o.out, r.profile, 0) }, kernelSink},
		{"xdp", over(func() (port.Port, error) { return port.OpenXDP(o.out, port.XDPOptions{SendOnly: true}) }), kernelSink},
		{"packet", over(raw), func() (generator.Receiver, error) {
			p, err := port.OpenRaw(o.in)
			if err != nil {
				return nil, err
			}
			return generator.NewTapped(p, o.flows)
		}},
	}
}

// connect takes the first way that brings a frame through.
func (r *rig) connect(ctx context.Context) error {
	var errs []error
	known := false
	for _, w := range r.ways() {
		if r.o.port != "auto" && r.o.port != w.name {
			continue
		}
		known = true
		err := r.try(ctx, w)
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", w.name, err))
		if ctx.Err() != nil {
			break
		}
	}
	if !known {
		return usagef("--port %s: want auto, live, xdp or packet", r.o.port)
	}
	return errors.Join(errs...)
}

func (r *rig) try(ctx context.Context, w way) error {
	sink, err := w.sink()
	if err != nil {
		return err
	}
	sender, err := w.send()
	if err != nil {
		return errors.Join(err, sink.Close())
	}
	if err := generator.Prove(ctx, sender, sink); err != nil {
		return errors.Join(err, sender.Close(), sink.Close())
	}
	r.sender, r.sink = sender, sink
	return nil
}

// Close detaches and stops answering.
func (r *rig) Close() error {
	var err error
	if r.sender != nil {
		err = errors.Join(r.sender.Close(), r.sink.Close())
	}
	for _, f := range r.close {
		err = errors.Join(err, f())
	}
	return err
}

// lineLimit is the greatest frame rate of the line for the rig's frames.
func (r *rig) lineLimit() float64 {
	bytes := 0
	for _, n := range r.profile.Sizes {
		bytes += max(n, frame.MinFrame) + frame.Gap
	}
	return r.o.lineRate / 8 / (float64(bytes) / float64(len(r.profile.Sizes)))
}

// ends describes the tester for a Result.
func (r *rig) ends() []result.End {
	return []result.End{{Role: "tester", Host: hostname(), Facts: map[string]string{
		"send": r.o.out + ", " + r.sender.Name(), "count": r.o.in + ", " + r.sink.Name(), "line": result.FormatBits(r.o.lineRate)}}}
}
