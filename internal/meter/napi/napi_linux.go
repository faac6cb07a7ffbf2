package napi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/result"
)

//go:generate go tool bpf2go -cc clang -cflags "-O2 -g -Wall -Werror -I/usr/include/x86_64-linux-gnu" -type device -type core -type call -target bpfel,bpfeb counters bpf/napi.bpf.c

// Meter counts the polls of every interface of the box, in all namespaces:
// interfaces of one name count as one. It costs time in each poll, which it
// counts too (OverheadSeconds); close it after the measurement.
type Meter struct {
	objs  countersObjects
	links []link.Link
	stats interface{ Close() error } // counting our own run time; nil where the kernel does not
	calls int
}

// Open attaches to the tracepoints. calls is the length of each core's circular
// buffer of poll calls. It needs CAP_BPF and CAP_PERFMON; the error wraps
// errors.ErrUnsupported where the kernel cannot.
func Open(calls int) (*Meter, error) {
	m := &Meter{calls: max(1, calls)}
	if err := m.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("napi: %w", err), m.Close())
	}
	return m, nil
}

func (m *Meter) load() error {
	spec, err := loadCounters()
	if err != nil {
		return err
	}
	spec.Maps["ring"].MaxEntries = uint32(m.calls)
	if err := spec.Variables["ring_length"].Set(uint32(m.calls)); err != nil {
		return err
	}
	if err := spec.LoadAndAssign(&m.objs, nil); err != nil {
		// Without the kernel's type information the device's name cannot be
		// found: the program that does not look for it takes the other's place.
		spec.Programs["poll_named"] = spec.Programs["poll_plain"].Copy()
		if again := spec.LoadAndAssign(&m.objs, nil); again != nil {
			return fmt.Errorf("load: %w: %w", err, errUnsupported(err))
		}
	}
	if s, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME); err == nil {
		m.stats = s
	}
	for name, p := range map[string]*ebpf.Program{"softirq_entry": m.objs.SoftirqEntry, "softirq_exit": m.objs.SoftirqExit, "napi_poll": m.objs.PollNamed} {
		l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: name, Program: p})
		if err != nil {
			return fmt.Errorf("attach to %s: %w: %w", name, err, errUnsupported(err))
		}
		m.links = append(m.links, l)
	}
	return nil
}

// errUnsupported tells a kernel that cannot from a call that failed.
func errUnsupported(err error) error {
	if errors.Is(err, ebpf.ErrNotSupported) {
		return errors.ErrUnsupported
	}
	return errors.New("it needs root, or CAP_BPF and CAP_PERFMON")
}

// Name returns "napi".
func (*Meter) Name() string { return "napi" }

// Read returns the counters of each interface and core since Open.
func (m *Meter) Read(context.Context) ([]result.Value, error) {
	vs, err := m.devices()
	if err != nil {
		return nil, err
	}
	var cores []countersCore
	if err := m.objs.Cores.Lookup(uint32(0), &cores); err != nil {
		return nil, fmt.Errorf("napi: softirq time: %w", err)
	}
	for cpu, c := range cores {
		label := strconv.Itoa(cpu)
		vs = append(vs, result.SoftirqRuns.Of(float64(c.Softirqs), "cpu", label), result.SoftirqSeconds.Of(float64(c.SoftirqNs)/1e9, "cpu", label))
	}
	batches, err := histogram(m.objs.Batches, result.NAPIBatch, "packets", strconv.Itoa)
	if err != nil {
		return nil, err
	}
	durations, err := histogram(m.objs.Durations, result.NAPIDuration, "ns", func(slot int) string { return strconv.FormatUint(1<<slot, 10) })
	if err != nil {
		return nil, err
	}
	vs = slices.Concat(vs, batches, durations)
	if m.stats != nil {
		vs = append(vs, result.NAPIOverhead.Of(m.OverheadSeconds()))
	}
	return vs, nil
}

func (m *Meter) devices() ([]result.Value, error) {
	sums := map[string]countersDevice{}
	var name [16]int8
	var each []countersDevice
	it := m.objs.Devices.Iterate()
	for it.Next(&name, &each) {
		sum := countersDevice{}
		for _, d := range each {
			sum.Polls, sum.Packets, sum.Empty = sum.Polls+d.Polls, sum.Packets+d.Packets, sum.Empty+d.Empty
			sum.Full, sum.Ns, sum.Timed = sum.Full+d.Full, sum.Ns+d.Ns, sum.Timed+d.Timed
		}
		sums[text(name)] = sum
	}
	if err := it.Err(); err != nil {
		return nil, fmt.Errorf("napi: counters: %w", err)
	}
	var vs []result.Value
	for _, dev := range slices.Sorted(maps.Keys(sums)) {
		d := sums[dev]
		vs = append(vs,
			result.NAPIPolls.Of(float64(d.Polls), "interface", dev), result.NAPIPackets.Of(float64(d.Packets), "interface", dev),
			result.NAPIEmpty.Of(float64(d.Empty), "interface", dev), result.NAPIFull.Of(float64(d.Full), "interface", dev),
			result.NAPISeconds.Of(float64(d.Ns)/1e9, "interface", dev), result.NAPITimed.Of(float64(d.Timed), "interface", dev))
	}
	return vs, nil
}

// histogram reads the slots of a per-core array that are not empty.
func histogram(m *ebpf.Map, metric result.Metric, label string, show func(slot int) string) ([]result.Value, error) {
	var vs []result.Value
	var each []uint64
	for slot := range m.MaxEntries() {
		if err := m.Lookup(slot, &each); err != nil {
			return nil, fmt.Errorf("napi: %s: %w", metric.Name, err)
		}
		n := uint64(0)
		for _, v := range each {
			n += v
		}
		if n > 0 {
			vs = append(vs, metric.Of(float64(n), label, show(int(slot))))
		}
	}
	return vs, nil
}

// OverheadSeconds returns the time that the counting itself took since Open, 0
// where the kernel does not tell.
func (m *Meter) OverheadSeconds() float64 {
	total := 0.0
	for _, p := range []*ebpf.Program{m.objs.SoftirqEntry, m.objs.SoftirqExit, m.objs.PollNamed, m.objs.PollPlain} {
		if s, err := p.Stats(); err == nil {
			total += s.Runtime.Seconds()
		}
	}
	return total
}

// Calls returns the last poll calls of each core, oldest first within a core.
func (m *Meter) Calls() ([]Call, error) {
	var cores []countersCore
	if err := m.objs.Cores.Lookup(uint32(0), &cores); err != nil {
		return nil, fmt.Errorf("napi: calls: %w", err)
	}
	perCore := make([][]Call, len(cores))
	var each []countersCall
	for slot := range uint32(m.calls) {
		if err := m.objs.Ring.Lookup(slot, &each); err != nil {
			return nil, fmt.Errorf("napi: calls: %w", err)
		}
		for cpu, c := range each {
			if uint64(slot) < cores[cpu].Calls {
				perCore[cpu] = append(perCore[cpu], Call{CPU: cpu, Interface: text(c.Name), Packet: c.Packet, Since: nanoseconds(c.Since), Inside: nanoseconds(c.Inside), Packets: int(c.Work)})
			}
		}
	}
	for _, calls := range perCore {
		slices.SortFunc(calls, func(a, b Call) int { return int(int64(a.Packet - b.Packet)) })
	}
	return slices.Concat(perCore...), nil
}

// Close detaches.
func (m *Meter) Close() error {
	var err error
	for _, l := range m.links {
		err = errors.Join(err, l.Close())
	}
	if m.stats != nil {
		err = errors.Join(err, m.stats.Close())
	}
	return errors.Join(err, m.objs.Close())
}

func text(name [16]int8) string {
	b := make([]byte, len(name))
	for i, c := range name {
		b[i] = byte(c)
	}
	return string(bytes.TrimRight(b, "\x00"))
}
