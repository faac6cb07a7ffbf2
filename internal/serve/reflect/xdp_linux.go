package reflect

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/result"
)

//go:generate go tool bpf2go -cc clang -cflags "-O2 -g -Wall -Werror -I/usr/include/x86_64-linux-gnu -I../../wire/frame" -target bpfel,bpfeb program bpf/reflect.bpf.c

// linearMax is the MTU from which a driver receives a frame in parts.
const linearMax = 3500

// Reflector is a program attached to an interface.
type Reflector struct {
	Mode string // where it sits: driver or stack
	objs programObjects
	link link.Link
}

// Attach puts a reflector on an interface of the calling thread's namespace: in
// the driver where that can, in the stack otherwise. Detached is as if it had
// never been there. It needs CAP_BPF and CAP_NET_ADMIN.
func Attach(ifname string, o Options) (*Reflector, error) {
	r := &Reflector{}
	if err := r.attach(ifname, o); err != nil {
		return nil, errors.Join(fmt.Errorf("reflect: %s: %w", ifname, err), r.Close())
	}
	return r, nil
}

func (r *Reflector) attach(ifname string, o Options) error {
	ifi, err := net.InterfaceByName(ifname)
	if err != nil {
		return err
	}
	spec, err := loadProgram()
	if err != nil {
		return err
	}
	if err := configure(spec, o); err != nil {
		return err
	}
	if ifi.MTU > linearMax {
		spec.Programs["reflect"].Flags |= unix.BPF_F_XDP_HAS_FRAGS // since Linux 5.18
		if err := spec.Variables["frags"].Set(uint32(1)); err != nil {
			return err
		}
	}
	if err := spec.LoadAndAssign(&r.objs, nil); err != nil {
		return fmt.Errorf("load (it needs CAP_BPF and CAP_NET_ADMIN): %w", err)
	}
	r.link, r.Mode, err = port.AttachXDP(r.objs.Reflect, ifi.Index)
	return err
}

// configure writes the program's constants.
func configure(spec *ebpf.CollectionSpec, o Options) error {
	set := map[string]any{"any": uint32(0)}
	if o.Any {
		set["any"] = uint32(1)
	}
	if o.Latency {
		set["measure"] = uint32(1)
	}
	if o.Out != "" {
		out, err := net.InterfaceByName(o.Out)
		if err != nil {
			return fmt.Errorf("second arm %s: %w", o.Out, err)
		}
		if len(o.NextHop) != 6 || len(out.HardwareAddr) != 6 {
			return fmt.Errorf("second arm %s: want Ethernet, and the MAC address of the next hop", o.Out)
		}
		set["out_ifindex"] = uint32(out.Index)
		set["next_hop"], set["own"] = [6]byte(o.NextHop), [6]byte(out.HardwareAddr)
	}
	for name, v := range set {
		if err := spec.Variables[name].Set(v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Counts returns what was done since Attach.
func (r *Reflector) Counts() (Counts, error) {
	var c Counts
	for i, n := range []*uint64{&c.Frames, &c.Bytes, &c.Foreign, &c.OtherClock} {
		var each []uint64
		if err := r.objs.Counters.Lookup(uint32(i), &each); err != nil {
			return c, fmt.Errorf("reflect: counters: %w", err)
		}
		for _, v := range each {
			*n += v
		}
	}
	c.Latency = port.ReadHistogram(r.objs.Latency)
	return c, nil
}

// Name and Read make a Reflector a meter.
func (*Reflector) Name() string { return "reflect" }

// Read returns the counters.
func (r *Reflector) Read(context.Context) ([]result.Value, error) {
	c, err := r.Counts()
	if err != nil {
		return nil, err
	}
	return c.Values(), nil
}

// monotonic is the clock of time stamps, the kernel's own (bpf_ktime_get_ns).
func monotonic() uint64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return uint64(t.Nano())
}

// Close detaches.
func (r *Reflector) Close() error {
	var err error
	if r.link != nil {
		err = r.link.Close()
	}
	return errors.Join(err, r.objs.Close())
}
