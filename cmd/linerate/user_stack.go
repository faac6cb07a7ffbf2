package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/report"
	"github.com/linerate/linerate/internal/serve/netstack"
	"github.com/linerate/linerate/internal/serve/netstack/nic"
	"github.com/linerate/linerate/result"
)

// userStackOptions are the flags of a server on the user-space stack.
type userStackOptions struct {
	stack, port, memory    string
	addresses, gateways    []string
	offload, pacing, clock string
	knobs                  netstack.Knobs
	card                   nic.Config
	ring                   int
}

func (o *userStackOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.stack, "stack", "kernel", "TCP/IP stack: kernel, or user for our own on a software card")
	f.StringVar(&o.port, "port", "", "the software card's wire: tap:`NAME`, packet:NAME or xdp:NAME")
	f.StringArrayVar(&o.addresses, "address", nil, "`ADDRESS/LENGTH` of the user stack; may be repeated, once per family")
	f.StringArrayVar(&o.gateways, "gateway", nil, "`ADDRESS` of its default router")
	f.IntVar(&o.knobs.MTU, "mtu", 1500, "bytes of the largest packet")
	f.StringVar(&o.memory, "stack-memory", "", "`SIZE` of the memory for the buffers of all connections (default: no limit)")
	f.IntVar(&o.knobs.AckEvery, "ack-every", 0, "acknowledge every `N` segments (default: every batch)")
	f.BoolVar(&o.knobs.NoDelay, "no-delay", true, "send small segments at once")
	f.BoolVar(&o.knobs.NoSACK, "no-sack", false, "no selective acknowledgements: segments carry 36 bytes more, and losses cost more")
	f.StringVar(&o.offload, "offload", "none", "what the card does: none, checksum, or segment (both)")

	f.IntVar(&o.ring, "rx-ring", 256, "receive descriptors")
	f.IntVar(&o.card.Transmit, "tx-ring", 256, "transmit descriptors")
	f.IntVar(&o.card.Budget, "budget", 64, "most frames a poll serves")
	f.StringVar(&o.pacing, "pacing", "immediate", "receive interrupts: immediate, 0 threshold, 1 since-interrupt, 2 since-first, 3 since-last")
	f.DurationVar(&o.card.Pacing.Timer, "pacing-timer", 2*nic.Tick, "of modes 1 to 3")
	f.IntVar(&o.card.Pacing.Threshold, "pacing-threshold", 0, "frames that end the wait (default: the ring)")
	f.DurationVar(&o.card.Pacing.Watchdog, "pacing-watchdog", 0, "of mode 0, which holds frames for ever without")
	f.StringVar(&o.clock, "pacing-clock", "sleep", "how the timer waits: sleep, hybrid or spin")
	f.DurationVar(&o.card.InterruptCost, "interrupt-cost", 0, "processor time a board's interrupt takes")
	f.BoolVar(&o.card.StopAfterEach, "dma-stop", false, "the DMA stops after each frame (NIOS II)")
	f.IntVar(&o.card.Split, "header-split", 0, "`BYTES` of each frame that go to memory of their own (Zynq: 64)")
	f.BoolVar(&o.card.ReclaimInSend, "reclaim-in-send", false, "free transmit descriptors inside the send path")
	f.IntVar(&o.card.TransmitInterrupt, "tx-interrupt", 0, "completions per transmit interrupt (0: none)")
	f.IntVar(&o.card.Trace, "nic-trace", 0, "keep the card's last `N` calls and print them at the end")
}

// used reports whether the user-space stack was asked for.
func (o *userStackOptions) used() (bool, error) {
	switch o.stack {
	case "kernel":
		if o.port != "" || len(o.addresses) > 0 {
			return false, usagef("--port and --address are of the user stack: add --stack user")
		}
		return false, nil
	case "user":
		return true, nil
	}
	return false, usagef("--stack %s: want kernel or user", o.stack)
}

// open makes the card and the stack; Run is the caller's.
func (o *userStackOptions) open() (*netstack.Stack, error) {
	c := netstack.Config{Knobs: o.knobs}
	var err error
	if o.memory != "" {
		if c.Knobs.Memory, err = result.ParseSize(o.memory); err != nil {
			return nil, usagef("--stack-memory: %v", err)
		}
	}
	switch o.offload {
	case "none":
	case "checksum", "segment":
		c.Knobs.Checksum, c.Knobs.Segment = true, o.offload == "segment"
	default:
		return nil, usagef("--offload %s: want none, checksum or segment", o.offload)
	}
	if c.Addresses, c.Gateways, err = o.network(); err != nil {
		return nil, err
	}
	if o.card.Pacing.Mode, err = nic.ParseMode(o.pacing); err != nil {
		return nil, usagef("--pacing: %v", err)
	}
	kind, err := nic.ParseTimer(o.clock)
	if err != nil {
		return nil, usagef("--pacing-clock: %v", err)
	}
	o.card.Timer = nic.NewTimer(kind)
	wire, err := o.wire()
	if err != nil {
		return nil, err
	}
	if c.Card, err = nic.New(wire, o.card); err == nil {
		var s *netstack.Stack
		if s, err = netstack.New(c); err == nil {
			return s, nil
		}
	}
	return nil, errors.Join(err, wire.Close())
}

// network reads the addresses.
func (o *userStackOptions) network() (addrs []netip.Prefix, gateways []netip.Addr, err error) {
	for _, a := range o.addresses {
		p, err := netip.ParsePrefix(a)
		if err != nil {
			return nil, nil, usagef("--address %s: want an address with the length of its network, such as 192.168.1.4/24", a)
		}
		addrs = append(addrs, p)
	}
	if len(addrs) == 0 {
		return nil, nil, usagef("the user stack needs an address of its own: --address 192.168.1.4/24")
	}
	for _, g := range o.gateways {
		a, err := netip.ParseAddr(g)
		if err != nil {
			return nil, nil, usagef("--gateway: %v", err)
		}
		gateways = append(gateways, a)
	}
	return addrs, gateways, nil
}

// wire opens what --port names.
func (o *userStackOptions) wire() (nic.Wire, error) {
	kind, name, ok := strings.Cut(o.port, ":")
	if !ok || name == "" {
		return nil, usagef("--port %q: want tap:NAME (made if there is none), packet:NAME or xdp:NAME of an interface", o.port)
	}
	opt := nic.Options{Ring: o.ring, Offload: o.offload != "none"}
	switch kind {
	case "tap":
		return nic.OpenTap(name, opt)
	case "packet":
		return nic.OpenPacket(name, opt)
	case "xdp":
		p, err := port.OpenXDP(name, port.XDPOptions{})
		if err != nil {
			return nil, err
		}
		return nic.OnPort(p, o.ring), nil
	}
	return nil, usagef("--port %s: no such kind of wire; want tap, packet or xdp", kind)
}

// stackNetwork is the user-space stack as the FTP server's network.
type stackNetwork struct{ *netstack.Stack }

func (n stackNetwork) Listen(ctx context.Context, local netip.AddrPort) (net.Listener, error) {
	return n.Stack.Listen(ctx, "tcp", local.String())
}

func (n stackNetwork) Dial(ctx context.Context, _ netip.Addr, to netip.AddrPort) (net.Conn, error) {
	return n.DialContext(ctx, "tcp", to.String())
}

// stackResult is what the stack and its card did, the trace of the card's
// calls included: a trial is a call, its time that inside.
func stackResult(ctx context.Context, s *netstack.Stack) (*result.Result, error) {
	values, err := s.Read(ctx)
	now := time.Now()
	r := &result.Result{Schema: result.SchemaID, ID: result.NewID(now), Origin: result.Measured, Start: now, Ending: result.Completed,
		Workload: result.Workload{Kind: "user stack on " + s.Card().Info().Name},
		Ends:     []result.End{{Role: "server", Host: hostname(), Facts: map[string]string{"stack": "user"}}}, Totals: values}
	for _, c := range s.Card().Calls() {
		r.Trials = append(r.Trials, result.Trial{Name: string(c.Routine), Duration: c.Inside, Pass: true,
			Params: map[string]string{"frame": strconv.FormatInt(c.Frame, 10)},
			Values: []result.Value{result.CardCallFrames.Of(float64(c.Frames)), result.CardCallSince.Of(c.Since.Seconds())}})
	}
	return r, err
}

// stackPage answers with what the stack did so far, as a Result in JSON.
type stackPage struct{ *netstack.Stack }

func (p stackPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x, err := stackResult(r.Context(), p.Stack)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = result.Encode(w, x) // the reader is gone when this fails
}

// writeCard prints what the stack and its card did.
func writeCard(ctx context.Context, w io.Writer, s *netstack.Stack) error {
	r, err := stackResult(ctx, s)
	r.Trials = nil // a line each says more
	if err := errors.Join(err, report.Text(w, r)); err != nil {
		return err
	}
	for _, c := range s.Card().Calls() {
		fmt.Fprintf(w, "%-8s frame %-9d %4d frames  %10s since the last  %10s inside\n", c.Routine, c.Frame, c.Frames, c.Since.Round(100*time.Nanosecond), c.Inside.Round(100*time.Nanosecond))
	}
	return nil
}
