package generator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"runtime"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/port"
)

//go:generate go tool bpf2go -cc clang -cflags "-O2 -g -Wall -Werror -I/usr/include/x86_64-linux-gnu -I../../wire/frame" -type received -type silence -target bpfel,bpfeb program bpf/generator.bpf.c

// live makes frames in the kernel.
type live struct {
	profile Profile
	tmpl    template
	name    string
	out     int // interface index
	batch   uint32
}

// OpenLive returns a Sender that makes frames in the kernel and hands them to
// an interface of the calling thread's namespace. batch is how many at a time,
// at most 256; 0 chooses by the rate. The driver must have ndo_xdp_xmit, and on
// veth the peer an XDP program or GRO: Prove tells. It needs CAP_BPF and
// CAP_NET_ADMIN.
func OpenLive(ifname string, p Profile, batch int) (Sender, error) {
	err := p.check()
	if n := slices.Max(p.Sizes); err == nil && n > MaxLive {
		err = fmt.Errorf("frame size %d: frames made in the kernel have up to %d: %w", n, MaxLive, errors.ErrUnsupported)
	}
	if err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	ifi, err := net.InterfaceByName(ifname)
	if err != nil {
		return nil, fmt.Errorf("generator: %s: %w", ifname, err)
	}
	return &live{p, p.template(), ifname, ifi.Index, uint32(min(max(batch, 0), 256))}, nil
}

// Name says what it is.
func (l *live) Name() string { return l.name + ", XDP live frames" }

// Close does nothing: a program lives for a trial only.
func (*live) Close() error { return nil }

// batchFor returns how many frames the driver may take at once. A paced frame
// that is in time goes alone all the same, and the rest of its batch is left
// empty, at a cost of 40 ns each: what is overdue after a stall goes together.
func (l *live) batchFor(rate float64) uint32 {
	switch {
	case l.batch > 0:
		return l.batch
	case rate == 0:
		return 64
	case rate > 3e6:
		return 16
	case rate > 1.6e6:
		return 4
	case rate > 700e3:
		return 2
	}
	return 1
}

// Send offers one load. It holds the calling goroutine's thread, whole cores
// of it: pacing is a wait in the kernel. When ctx ends, what was sent so far
// is returned with the cause.
func (l *live) Send(ctx context.Context, load Load) (Sent, error) {
	if load.Frames == 0 {
		return Sent{}, errors.New("generator: no frames to send")
	}
	spec, err := loadProgram()
	if err != nil {
		return Sent{}, fmt.Errorf("generator: %w", err)
	}
	if err := l.set(spec, load); err != nil {
		return Sent{}, fmt.Errorf("generator: %w", err)
	}
	var objs struct {
		Generate *ebpf.Program  `ebpf:"generate"`
		Sender   *ebpf.Variable `ebpf:"sender"`
		Lateness *ebpf.Map      `ebpf:"lateness"`
		Stop     *ebpf.Variable `ebpf:"stop"`
	}
	if err := spec.LoadAndAssign(&objs, nil); err != nil {
		return Sent{}, fmt.Errorf("generator: load (it needs CAP_BPF and CAP_NET_ADMIN): %w", err)
	}
	defer objs.Generate.Close()
	defer objs.Lateness.Close()

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := unix.Gettid()
	defer favour(thread)()
	release := context.AfterFunc(ctx, func() {
		_ = objs.Stop.Set(uint32(1)) // the signal alone ends the call too, only later
		_ = unix.Tgkill(unix.Getpid(), thread, unix.SIGURG)
	})
	defer release()

	before := threadCPU()
	var st programSending
	batch, total := l.batchFor(load.Rate), slots(load.Frames, l.profile.Modifier.every(load.Rate))
	for {
		// A call takes 25 ms to end, so that the runs in which no frame is sent
		// must not use up the repeats; the program keeps the count.
		left := total - st.Sent + spareRuns
		if load.Rate > 0 {
			left *= uint64(batch)
		}
		left = min(left, math.MaxUint32/2)
		if load.Rate > 0 && load.Rate <= sleepRate && load.Burst <= 1 && batch == 1 {
			left = 1
		}
		if left == 1 && st.Start > 0 {
			sleepUntil(st.Start + uint64(load.schedule().due(st.Sent)) - sleepEarly)
		}
		left -= left % uint64(batch) // the program counts places in whole batches
		err := runLive(objs.Generate.FD(), l.tmpl.frame, uint32(left), batch)
		if lookup := objs.Sender.Get(&st); lookup != nil {
			return Sent{}, fmt.Errorf("generator: counters: %w", lookup)
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return l.sent(st, objs.Lateness, before), fmt.Errorf("generator: run: %w", err)
		}
		if st.Sent >= total || ctx.Err() != nil {
			return l.sent(st, objs.Lateness, before), context.Cause(ctx)
		}
	}
}

// favour lets the scheduler prefer the thread to what else runs, and returns
// what undoes it. Real time scheduling would be worse: its throttling leaves a
// hole of 50 ms in each second.
func favour(thread int) (undo func()) {
	old, err := unix.Getpriority(unix.PRIO_PROCESS, thread) // 20 - nice
	if err == nil {
		err = unix.Setpriority(unix.PRIO_PROCESS, thread, -20)
	}
	if err != nil {
		return func() {} // without the right the frames are only later
	}
	return func() { _ = unix.Setpriority(unix.PRIO_PROCESS, thread, 20-old) }
}

// spareRuns is how often more than there are frames the program may run.
const spareRuns = 4096

// Up to sleepRate each frame is a call of its own, and the thread sleeps until
// shortly before it is due: one that spins is put aside when others want the
// core, one that sleeps is woken in time. A call of one frame costs 14 us.
const (
	sleepRate  = 5000   // frames per second
	sleepEarly = 60_000 // ns
)

// sleepUntil returns at the time given on the kernel's monotonic clock, or
// later by the timer's slack, or early for a signal.
func sleepUntil(ns uint64) {
	t := unix.NsecToTimespec(int64(ns))
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &t, nil) // the program waits for the rest
}

func (l *live) sent(st programSending, lateness *ebpf.Map, before time.Duration) Sent {
	s := Sent{Frames: st.Sent - st.Others, Others: st.Others, Stepped: st.Stepped, Duration: time.Duration(st.Last - st.First), Slips: st.Slips,
		Slipped: time.Duration(st.SlippedNs), CPU: threadCPU() - before}
	s.Late = port.ReadHistogram(lateness)
	return s
}
