package inspect

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/wire/filter"
	"github.com/linerate/linerate/internal/wire/frame"
)

//go:generate go tool bpf2go -cc clang -cflags "-O2 -g -Wall -Werror -I/usr/include/x86_64-linux-gnu" -type record -type counters -type volume -type flow -type traffic -target bpfel,bpfeb program bpf/inspect.bpf.c

// Inspector looks at the frames of an interface.
type Inspector struct {
	Where string // "driver", "stack", or with XDP in the stack "stack, XDP"

	options Options
	objects objects
	links   []link.Link
	ring    *ring
	boot    time.Time // when the kernel's monotonic clock was 0
}

type objects struct {
	Driver    *ebpf.Program `ebpf:"inspect_driver"`
	In        *ebpf.Program `ebpf:"inspect_in"`
	Out       *ebpf.Program `ebpf:"inspect_out"`
	Records   *ebpf.Map     `ebpf:"records"`
	Counts    *ebpf.Map     `ebpf:"counts"`
	Protocols *ebpf.Map     `ebpf:"protocols"`
	Flows     *ebpf.Map     `ebpf:"flows"`
}

// Attach begins to look at an interface of the calling thread's namespace. It
// needs CAP_BPF and CAP_NET_ADMIN, Linux 5.18, and 6.6 for what is sent.
func Attach(ifname string, o Options) (*Inspector, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	i := &Inspector{options: o.defaulted(), boot: bootTime()}
	if err := i.attach(ifname); err != nil {
		return nil, errors.Join(fmt.Errorf("inspect: %s: %w", ifname, err), i.Close())
	}
	return i, nil
}

func (i *Inspector) attach(ifname string) error {
	ifi, err := net.InterfaceByName(ifname)
	if err != nil {
		return err
	}
	if err := i.load(); err != nil {
		return err
	}
	if i.options.Mode != Count {
		if i.ring, err = openRing(i.objects.Records.FD(), i.options.Ring); err != nil {
			return err
		}
	}
	if i.options.Direction != In {
		if err := i.attachStack(ifi.Index, i.objects.Out, ebpf.AttachTCXEgress); err != nil {
			return err
		}
	}
	if i.options.Direction == Out {
		return nil
	}
	if i.options.Place == Driver || i.options.Place == Auto && !software(ifname) {
		l, mode, err := port.AttachXDP(i.objects.Driver, ifi.Index)
		if err == nil && (mode == "driver" || i.options.Place == Driver) {
			i.links, i.Where = append(i.links, l), mode
			if mode != "driver" {
				i.Where = "stack, XDP"
			}
			return nil
		}
		if err == nil {
			err = l.Close() // XDP in the stack copies frames; tcx there doesn't
		}
		if i.options.Place == Driver {
			return err
		}
	}
	return i.attachStack(ifi.Index, i.objects.In, ebpf.AttachTCXIngress)
}

func (i *Inspector) attachStack(index int, p *ebpf.Program, where ebpf.AttachType) error {
	l, err := link.AttachTCX(link.TCXOptions{Interface: index, Program: p, Attach: where})
	if err != nil {
		return fmt.Errorf("attach in the stack (it needs Linux 6.6): %w", err)
	}
	i.links = append(i.links, l)
	i.Where = "stack"
	return nil
}

// load puts the programs into the kernel with the options as constants and the
// filter in its place.
func (i *Inspector) load() error {
	spec, err := loadProgram()
	if err != nil {
		return err
	}
	if err := i.configure(spec); err != nil {
		return err
	}
	if err := inject(spec, i.options.Filter); err != nil {
		return err
	}
	if err := spec.LoadAndAssign(&i.objects, nil); err != nil {
		return fmt.Errorf("load (it needs CAP_BPF and CAP_NET_ADMIN): %w", err)
	}
	return nil
}

// headersOnly is what a frame in the stack has in one piece if it is TCP's:
// Ethernet, IPv4 and TCP.
const headersOnly = 54

func (i *Inspector) configure(spec *ebpf.CollectionSpec) error {
	o := i.options
	modes := []Mode{Count, Split, Full}
	set := map[string]any{
		"mode": uint32(slices.Index(modes, o.Mode)), "headers": uint32(o.Headers), "snap": uint32(o.Snap), "sample": uint32(o.Sample),
		"linear": uint32(headersOnly),
	}
	if o.Protocol {
		set["trim"] = uint32(1)
	}
	if o.Limit > 0 {
		set["per_slot"] = max(uint64(o.Limit/100), 1) // a slot is 10 ms
	}
	for name, v := range set {
		if err := spec.Variables[name].Set(v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	spec.Maps["records"].MaxEntries = uint32(o.Ring)
	spec.Maps["flows"].MaxEntries = uint32(o.Flows)
	if o.Mode == Count {
		spec.Maps["records"].MaxEntries = 1 << 16
	} else {
		spec.Maps["flows"].MaxEntries = 1
	}
	return nil
}

// inject puts the compiled expression where the programs have a function that
// passes everything.
func inject(spec *ebpf.CollectionSpec, expression string) error {
	if expression == "" {
		return nil
	}
	compiled, err := filter.Compile(expression, frame.LinkEthernet)
	if err != nil {
		return err
	}
	if err := spec.Variables["linear"].Set(uint32(max(reach(compiled.Instructions()), headersOnly))); err != nil {
		return fmt.Errorf("linear: %w", err)
	}
	const name = "filter"
	code, err := translate(name, compiled.Instructions())
	if err != nil {
		return err
	}
	for _, p := range spec.Programs {
		from := slices.IndexFunc(p.Instructions, func(in asm.Instruction) bool { return in.Symbol() == name })
		if from < 0 {
			return fmt.Errorf("program %s has no filter to replace", p.Name)
		}
		to := from + 1
		for to < len(p.Instructions) && p.Instructions[to].Symbol() == "" {
			to++
		}
		body := slices.Clone(code)
		body[0] = body[0].WithMetadata(p.Instructions[from].Metadata) // its type information
		p.Instructions = slices.Replace(p.Instructions, from, to, body...)
	}
	return nil
}

// software reports whether an interface has no device on a bus behind it. Its
// frames come out of a stack, so that XDP has to copy them first.
func software(ifname string) bool {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	info, err := unix.IoctlGetEthtoolDrvinfo(fd, ifname)
	if err != nil {
		return true
	}
	bus := unix.ByteSliceToString(info.Bus_info[:])
	return bus == "" || bus == "tap" || bus == "N/A"
}

// Detach lets go of the interface; counters stay.
func (i *Inspector) Detach() error {
	var err error
	for _, l := range i.links {
		err = errors.Join(err, l.Close())
	}
	i.links = nil
	return err
}

// Close lets go of the interface and of what was counted.
func (i *Inspector) Close() error {
	err := i.Detach()
	if i.ring != nil {
		i.ring.close()
	}
	for _, p := range []*ebpf.Program{i.objects.Driver, i.objects.In, i.objects.Out} {
		err = errors.Join(err, p.Close())
	}
	for _, m := range []*ebpf.Map{i.objects.Records, i.objects.Counts, i.objects.Protocols, i.objects.Flows} {
		err = errors.Join(err, m.Close())
	}
	return err
}

// bootTime is when the monotonic clock began.
func bootTime() time.Time {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(now.Nano()))
}
