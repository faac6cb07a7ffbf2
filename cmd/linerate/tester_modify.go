package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/workload/generator"
)

// modify sends the frames of a modifier that stand for themselves, until the
// rig is closed: a management query a second, or routing updates as RIP has
// them (RFC 2544 sections 11.2 and 11.3).
func (r *rig) modify(ctx context.Context) error {
	d := r.directions[0]
	every, from := time.Second, d.from
	switch r.o.modifier {
	case "management":
	case "routing":
		every, from = 30*time.Second, d.to // the networks are on the output side
	default:
		return nil
	}
	if !r.o.source.Is4() {
		return usagef("--modifier %s: the queries and updates of RFC 2544 are of IPv4", r.o.modifier)
	}
	p, err := port.OpenRaw(from)
	if err != nil {
		return err
	}
	f, err := r.control(from)
	if err != nil {
		p.Close()
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- repeat(ctx, p, f, every) }()
	r.close = append(r.close, func() error { stop(); return <-done })
	if r.o.modifier == "routing" {
		return settle(ctx, 2*time.Second) // section 23 (a)
	}
	return nil
}

// control makes the query or the update.
func (r *rig) control(from string) ([]byte, error) {
	d := r.directions[0]
	if r.o.modifier == "management" {
		to := r.o.target
		if r.o.via != "" {
			to = netip.MustParseAddr(r.o.via) // resolved before
		}
		return generator.ManagementQuery(generator.Peers{Source: d.profile.Source, Dest: d.profile.Dest, SourceIP: r.o.source, DestIP: to}), nil
	}
	ifi, err := net.InterfaceByName(from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	// Networks of RFC 2544 appendix C.2.2 beyond the tester's own.
	var networks []netip.Addr
	for n := range 25 {
		networks = append(networks, netip.AddrFrom4([4]byte{198, 19, byte(65 + n), 0}))
	}
	everybody := net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	return generator.RoutingUpdate(generator.Peers{Source: ifi.HardwareAddr, Dest: everybody, SourceIP: r.o.target,
		DestIP: netip.AddrFrom4([4]byte{255, 255, 255, 255})}, networks), nil
}

// repeat sends a frame at once and then every so often, and closes p.
func repeat(ctx context.Context, p port.Port, f []byte, every time.Duration) error {
	defer p.Close()
	for {
		if _, err := p.Send([]port.Frame{{Data: f}}); err != nil {
			return err
		}
		if settle(ctx, every) != nil {
			return nil
		}
	}
}

// filterList says which filters the device is to have: RFC 2544 section 11.4
// and C.2.6: all but the last deny what is not in the stream, and the one that
// permits it stands at the place given, last or thirteenth.
func (o *testerOptions) filterList() string {
	if o.filters == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "configure on the device, in this order (RFC 2544 section 11.4):\n")
	for n := 1; n <= o.filters; n++ {
		if n == o.filters || o.filters == 25 && n == 13 {
			fmt.Fprintf(&b, "%4d permit %v to %v\n", n, o.source, o.target)
			continue
		}
		fmt.Fprintf(&b, "%4d deny   198.18.%d.2 to 198.19.%d.2\n", n, 99+n, 99+n)
	}
	return b.String()
}
