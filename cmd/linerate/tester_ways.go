package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/internal/workload/generator"
)

// way is one pair of sender and receiver.
type way struct {
	name, help string
	virtual    bool // no cable: there is nobody to ask for addresses, and auto does not try it
	open       func(d *direction) (generator.Sender, generator.Receiver, error)
}

// ways are in the order in which auto tries them.
func ways() []way {
	return []way{
		{"live", "live (frames made in the kernel)", false, func(d *direction) (generator.Sender, generator.Receiver, error) {
			return both(d, func() (generator.Sender, error) { return generator.OpenLive(d.from, d.profile, 0) }, kernelSink)
		}},
		{"xdp", "xdp (AF_XDP)", false, func(d *direction) (generator.Sender, generator.Receiver, error) {
			return both(d, over(d, func() (port.Port, error) { return port.OpenXDP(d.from, port.XDPOptions{SendOnly: true}) }), kernelSink)
		}},
		{"mixed", "mixed (AF_PACKET out, XDP in)", false, func(d *direction) (generator.Sender, generator.Receiver, error) {
			return both(d, over(d, func() (port.Port, error) { return port.OpenRaw(d.from) }), kernelSink)
		}},
		{"packet", "packet (AF_PACKET)", false, func(d *direction) (generator.Sender, generator.Receiver, error) {
			return both(d, over(d, func() (port.Port, error) { return port.OpenRaw(d.from) }), func(d *direction) (generator.Receiver, error) {
				p, err := port.ListenIncoming(d.to, 128)
				if err != nil {
					return nil, err
				}
				return generator.NewTapped(p, d.profile.Flows, nil)
			})
		}},
		{"tap", "tap (into this host's own stack)", true, openTAP},
		{"file", "file (a capture file, written and read back)", true, openFile},
		{"memory", "memory (the tester against itself)", true, openMemory},
	}
}

func wayNames() string {
	var names []string
	for _, w := range ways() {
		names = append(names, w.help)
	}
	return strings.Join(names, ", ")
}

// wayNamed returns the way that --port names, nil for auto and for none.
func wayNamed(name string) *way {
	for _, w := range ways() {
		if w.name == name {
			return &w
		}
	}
	return nil
}

func kernelSink(d *direction) (generator.Receiver, error) {
	return generator.OpenSink(d.to, d.profile.Flows)
}

// over sends through a Port.
func over(d *direction, open func() (port.Port, error)) func() (generator.Sender, error) {
	return func() (generator.Sender, error) {
		p, err := open()
		if err != nil {
			return nil, err
		}
		s, err := generator.NewPorted(p, d.profile)
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		return s, nil
	}
}

// both opens the receiver first: nothing that is sent is missed.
func both(d *direction, send func() (generator.Sender, error), receive func(*direction) (generator.Receiver, error)) (generator.Sender, generator.Receiver, error) {
	sink, err := receive(d)
	if err != nil {
		return nil, nil, err
	}
	sender, err := send()
	if err != nil {
		return nil, nil, errors.Join(err, sink.Close())
	}
	return sender, sink, nil
}

// openTAP has this host's stack as the device: what is sent, it receives on one
// TAP, and what it forwards comes out of the other.
func openTAP(d *direction) (generator.Sender, generator.Receiver, error) {
	if d.to == d.from {
		return nil, nil, usagef("--port tap: want two, -i and --in: the stack forwards from one to the other")
	}
	from, err := port.OpenTAP(d.from)
	if err != nil {
		return nil, nil, err
	}
	to, err := port.OpenTAP(d.to)
	if err != nil {
		return nil, nil, errors.Join(err, from.Close())
	}
	device, err := net.InterfaceByName(d.from)
	if err != nil {
		return nil, nil, errors.Join(err, from.Close(), to.Close())
	}
	d.profile.Source, d.profile.Dest = net.HardwareAddr{2, 0, 0, 0, 0, 1}, device.HardwareAddr
	ours, has := net.HardwareAddr{2, 0, 0, 0, 0, 2}, within(d.profile.DestIP, max(d.profile.Hosts, 1))
	return pairOf(d, from, to, func(b []byte) {
		if q, ok := frame.ParseNeighbour(b); ok && !q.Reply && has(q.Target) {
			_, _ = to.Send([]port.Frame{{Data: q.Answer(ours)}}) // asked again if it is lost
		}
	})
}

// openFile writes frames into a new capture file and counts what it holds.
func openFile(d *direction) (generator.Sender, generator.Receiver, error) {
	if _, err := os.Stat(d.from); err == nil {
		return nil, nil, fmt.Errorf("%s: %w: a capture file is written anew", d.from, os.ErrExist)
	}
	from, err := port.OpenFile(d.from, generator.MaxFrame)
	if err != nil {
		return nil, nil, err
	}
	to, err := port.OpenFile(d.from, generator.MaxFrame)
	if err != nil {
		return nil, nil, errors.Join(err, from.Close())
	}
	return pairOf(d, from, to, nil)
}

func openMemory(d *direction) (generator.Sender, generator.Receiver, error) {
	from, to := port.Memory(generator.MaxFrame, 4096)
	return pairOf(d, from, to, nil)
}

// pairOf sends on one Port and counts on another, with made up MAC addresses
// where the direction has none.
func pairOf(d *direction, from, to port.Port, foreign func([]byte)) (generator.Sender, generator.Receiver, error) {
	if d.profile.Source == nil {
		d.profile.Source, d.profile.Dest = net.HardwareAddr{2, 0, 0, 0, 0, 1}, net.HardwareAddr{2, 0, 0, 0, 0, 2}
	}
	return both(d, over(d, func() (port.Port, error) { return from, nil }),
		func(d *direction) (generator.Receiver, error) {
			return generator.NewTapped(to, d.profile.Flows, foreign)
		})
}

// connect takes the first way that brings a frame through.
func (r *rig) connect(ctx context.Context, d *direction) error {
	var errs []error
	for _, w := range ways() {
		if w.name != r.o.port && (w.virtual || r.o.port != "auto") {
			continue
		}
		err := d.try(ctx, w)
		if err == nil {
			return nil
		}
		if errors.Is(err, errUsage) || ctx.Err() != nil {
			return err
		}
		errs = append(errs, fmt.Errorf("%s: %w", w.name, err))
	}
	return fmt.Errorf("%w%s", errors.Join(errs...), linkState(d.from, d.to))
}

func (d *direction) try(ctx context.Context, w way) error {
	sender, sink, err := w.open(d)
	if err != nil {
		return err
	}
	if err := generator.Prove(ctx, sender, sink); err != nil {
		return errors.Join(err, sender.Close(), sink.Close())
	}
	d.sender, d.sink = sender, sink
	return nil
}
