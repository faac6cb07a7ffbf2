package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/internal/workload/generator"
	"github.com/linerate/linerate/result"
)

// rig is a tester connected to its device.
type rig struct {
	o          *testerOptions
	directions []*direction // one, or two with --both
	close      []func() error
}

// direction is a stream of frames from one interface to another.
type direction struct {
	from, to string
	profile  generator.Profile
	sender   generator.Sender
	sink     generator.Receiver
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
	p := generator.Profile{Sizes: sizes, SourceIP: o.source, DestIP: o.target, VLAN: o.vlan, Flows: o.flows, Hosts: o.hosts,
		Shuffled: o.shuffle, Modifier: o.modify, StampEvery: 64}
	there := &direction{from: o.out, to: o.in, profile: p}
	r.directions = []*direction{there}
	if o.both {
		p.SourceIP, p.DestIP, p.Hosts = o.target, o.source, 1
		r.directions = append(r.directions, &direction{from: o.in, to: o.out, profile: p})
	}
	if pick := wayNamed(o.port); pick != nil && pick.virtual {
		return r.connect(ctx, there)
	}
	if err := r.answer(ctx, o.out, o.source, 1); err != nil {
		return err
	}
	if o.in != o.out {
		if err := r.answer(ctx, o.in, o.target, o.hosts); err != nil {
			return err
		}
	}
	for i, d := range r.directions {
		via := []string{o.via, o.viaIn}[i]
		if err := r.find(ctx, d, via); err != nil {
			return err
		}
		if err := r.connect(ctx, d); err != nil {
			return err
		}
	}
	return r.modify(ctx)
}

// find fills in the MAC addresses of a direction.
func (r *rig) find(ctx context.Context, d *direction, via string) error {
	from, err := net.InterfaceByName(d.from)
	if err != nil {
		return fmt.Errorf("%s: %w", d.from, err)
	}
	d.profile.Source = from.HardwareAddr
	if r.o.dstMAC != "" {
		if d.profile.Dest, err = net.ParseMAC(r.o.dstMAC); err != nil {
			return usagef("--dst-mac: %v", err)
		}
		return nil
	}
	next := d.profile.DestIP
	if via != "" {
		if next, err = netip.ParseAddr(via); err != nil {
			return usagef("--via, --via-in: %v", err)
		}
	}
	p, err := port.OpenRaw(d.from)
	if err != nil {
		return err
	}
	defer p.Close()
	d.profile.Dest, err = port.Resolve(ctx, p, from.HardwareAddr, d.profile.SourceIP, next)
	if errors.Is(err, port.ErrNoNeighbour) {
		return fmt.Errorf("%w: is the device up and does it have that address? --via names another, --dst-mac asks nobody%s", err, linkState(d.from, d.to))
	}
	return err
}

// answer answers on an interface for n addresses from first on, so that the
// device finds its neighbour without any set-up, and tells it once where they
// are: the learning frames of RFC 2544 section 23.
func (r *rig) answer(ctx context.Context, ifname string, first netip.Addr, n int) error {
	ifi, err := net.InterfaceByName(ifname)
	if err != nil {
		return fmt.Errorf("%s: %w", ifname, err)
	}
	p, err := port.OpenRaw(ifname)
	if err != nil {
		return err
	}
	if _, err := p.Send([]port.Frame{{Data: frame.Request(ifi.HardwareAddr, first, first)}}); err != nil {
		return errors.Join(fmt.Errorf("%w%s", err, linkState(ifname)), p.Close())
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- port.Answer(ctx, p, ifi.HardwareAddr, within(first, n)) }()
	r.close = append(r.close, func() error { stop(); return errors.Join(<-done, p.Close()) })
	return nil
}

// within tells the n addresses from first on.
func within(first netip.Addr, n int) func(netip.Addr) bool {
	last := first
	for range n - 1 {
		last = last.Next()
	}
	return func(a netip.Addr) bool { return a.Compare(first) >= 0 && a.Compare(last) <= 0 }
}

// Close detaches and stops answering.
func (r *rig) Close() error {
	var err error
	for _, d := range r.directions {
		if d.sender != nil {
			err = errors.Join(err, d.sender.Close(), d.sink.Close())
		}
	}
	for _, f := range r.close {
		err = errors.Join(err, f())
	}
	return err
}

// profile is that of the first direction; the other's differs in addresses.
func (r *rig) profile() generator.Profile { return r.directions[0].profile }

// lineLimit is the greatest frame rate of the line for the rig's frames.
func (r *rig) lineLimit() float64 {
	sizes := r.profile().Sizes
	bytes := 0
	for _, n := range sizes {
		bytes += max(n, frame.MinFrame) + frame.Gap
	}
	return r.o.lineRate / 8 / (float64(bytes) / float64(len(sizes)))
}

// ends describes the tester for a Result.
func (r *rig) ends() []result.End {
	facts := map[string]string{"line": result.FormatBits(r.o.lineRate)}
	for i, d := range r.directions {
		back := []string{"", " back"}[i]
		facts["send"+back], facts["count"+back] = d.sender.Name(), d.sink.Name()
	}
	return []result.End{{Role: "tester", Host: hostname(), Facts: facts}}
}
