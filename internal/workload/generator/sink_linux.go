package generator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/wire/frame"
)

// sink counts frames in the kernel and drops them.
type sink struct {
	name  string
	flows uint32
	objs  struct {
		Sink    *ebpf.Program `ebpf:"sink"`
		Flows   *ebpf.Map     `ebpf:"flows"`
		Latency *ebpf.Map     `ebpf:"latency"`
		Foreign *ebpf.Map     `ebpf:"foreign"`
		Silence *ebpf.Map     `ebpf:"silences"`

		Split *ebpf.Variable `ebpf:"split"`
		Watch *ebpf.Variable `ebpf:"watch"`
	}
	link link.Link
	mode string
}

// OpenSink attaches a Receiver to an interface of the calling thread's
// namespace; the frames of flows 0 to flows-1 end there, others pass to the
// stack. It sits in the driver where that can, in the stack otherwise.
func OpenSink(ifname string, flows int) (Receiver, error) {
	s := &sink{name: ifname, flows: uint32(flows)}
	if err := s.open(ifname); err != nil {
		return nil, errors.Join(fmt.Errorf("generator: sink on %s: %w", ifname, err), s.Close())
	}
	return s, nil
}

func (s *sink) open(ifname string) error {
	ifi, err := net.InterfaceByName(ifname)
	if err != nil {
		return err
	}
	spec, err := loadProgram()
	if err != nil {
		return err
	}
	spec.Maps["flows"].MaxEntries = s.flows
	if ifi.MTU > MaxLive {
		spec.Programs["sink"].Flags |= unix.BPF_F_XDP_HAS_FRAGS // since Linux 5.18
		if err := spec.Variables["frags"].Set(uint32(1)); err != nil {
			return err
		}
	}
	if err := spec.LoadAndAssign(&s.objs, nil); err != nil {
		return fmt.Errorf("load (it needs CAP_BPF and CAP_NET_ADMIN): %w", err)
	}
	s.link, s.mode, err = port.AttachXDP(s.objs.Sink, ifi.Index)
	return err
}

// Name says what it is.
func (s *sink) Name() string { return s.name + ", XDP in the " + s.mode }

// Reset forgets everything counted, and stops watching.
func (s *sink) Reset() error {
	var none programReceived
	if err := errors.Join(s.objs.Watch.Set(uint32(0)), s.objs.Silence.Put(uint32(0), &programSilence{})); err != nil {
		return fmt.Errorf("generator: reset: %w", err)
	}
	for f := range s.flows {
		if err := s.objs.Flows.Put(f, &none); err != nil {
			return fmt.Errorf("generator: reset: %w", err)
		}
	}
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return fmt.Errorf("generator: reset: %w", err)
	}
	zeros := make([]uint64, cpus)
	for m, n := range map[*ebpf.Map]uint32{s.objs.Latency: frame.Buckets, s.objs.Foreign: 2} {
		for i := range n {
			if err := m.Put(i, zeros); err != nil {
				return fmt.Errorf("generator: reset: %w", err)
			}
		}
	}
	return nil
}

// Watch notes the time of every frame until Reset, and counts the frames from
// a sequence number on apart.
func (s *sink) Watch(from uint64) error {
	if err := errors.Join(s.objs.Split.Set(from), s.objs.Watch.Set(uint32(1))); err != nil {
		return fmt.Errorf("generator: watch: %w", err)
	}
	return nil
}

// Counts returns what was counted since Reset. Read it once the traffic has
// stopped: a frame under way looks lost.
func (s *sink) Counts() (Received, error) {
	var r Received
	for f := range s.flows {
		var x programReceived
		if err := s.objs.Flows.Lookup(f, &x); err != nil {
			return r, fmt.Errorf("generator: counters: %w", err)
		}
		r.Frames, r.Bytes, r.Unique = r.Frames+x.Frames, r.Bytes+x.Bytes, r.Unique+x.Unique
		r.Duplicate, r.Reordered = r.Duplicate+x.Duplicate, r.Reordered+x.Reordered
		r.TooLate, r.Corrupt, r.After = r.TooLate+x.TooLate, r.Corrupt+x.Corrupt, r.After+x.After
		r.LostAt, r.jitter, r.jitters = max(r.LostAt, x.LostAt), r.jitter+x.Jitter, r.jitters+x.Jitters
	}
	for i, n := range []*uint64{&r.Foreign, &r.UnknownFlow} {
		var each []uint64
		if err := s.objs.Foreign.Lookup(uint32(i), &each); err != nil {
			return r, fmt.Errorf("generator: counters: %w", err)
		}
		for _, v := range each {
			*n += v
		}
	}
	var quiet programSilence
	if err := s.objs.Silence.Lookup(uint32(0), &quiet); err != nil {
		return r, fmt.Errorf("generator: counters: %w", err)
	}
	r.Silence, r.SilenceEnd = time.Duration(quiet.Until-quiet.From), quiet.Until
	r.Latency = port.ReadHistogram(s.objs.Latency)
	r.meanJitter()
	return r, nil
}

// Close detaches.
func (s *sink) Close() error {
	var err error
	if s.link != nil {
		err = s.link.Close()
	}
	for _, c := range []interface{ Close() error }{s.objs.Sink, s.objs.Flows, s.objs.Latency, s.objs.Foreign, s.objs.Silence} {
		err = errors.Join(err, c.Close())
	}
	return err
}

func nativeUint64(b [8]byte) uint64 { return binary.NativeEndian.Uint64(b[:]) }

// threadCPU is the CPU time of the calling thread.
func threadCPU() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
