package tester

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/serve/reflect"
	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/internal/workload/generator"
)

// rig is a link whose far end drops, counts or reflects.
type rig struct {
	*testnet.Link
	drop *ebpf.Program
}

func newRig(b *testing.B) *rig {
	r := &rig{Link: testnet.NewPair(b, testnet.LinkOptions{Bare: true})}
	const xdpDrop = 1
	var err error
	r.drop, err = ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "Apache-2.0", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpDrop), asm.Return()}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { r.drop.Close() })
	return r
}

func (r *rig) profile() generator.Profile { return profileOf(r.A.MAC, r.B.MAC) }

func profileOf(from, to string) generator.Profile {
	src, err1 := net.ParseMAC(from)
	dst, err2 := net.ParseMAC(to)
	if err := errors.Join(err1, err2); err != nil {
		panic(err)
	}
	return generator.Profile{Sizes: []int{64}, Source: src, Dest: dst, Flows: 1, StampEvery: 64,
		SourceIP: netip.MustParseAddr("198.18.1.2"), DestIP: netip.MustParseAddr("198.19.1.2")}
}

// dropping has the far end drop everything while f runs in the near one.
func (r *rig) dropping(f func() error) (err error) {
	var l link.Link
	err = r.B.Namespace.Do(func() error {
		ifi, err := net.InterfaceByName(r.B.Interface)
		if err == nil {
			l, _, err = port.AttachXDP(r.drop, ifi.Index)
		}
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return r.A.Namespace.Do(f)
}

// reflectedBatch is half of what goes one way: frames meet their own echo.
const reflectedBatch = 16

// frames of one measurement, about a second's.
const (
	liveFrames = 6_000_000
	portFrames = 900_000
)

// bare redirects frames as they are: the most that this way of sending can do.
func (r *rig) bare() (rate float64, err error) {
	err = r.dropping(func() error {
		ifi, err := net.InterfaceByName(r.A.Interface)
		if err != nil {
			return err
		}
		p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "Apache-2.0", Instructions: asm.Instructions{
			asm.Mov.Imm(asm.R1, int32(ifi.Index)), asm.Mov.Imm(asm.R2, 0), asm.FnRedirect.Call(), asm.Return()}})
		if err != nil {
			return err
		}
		defer p.Close()
		before := cpu()
		if _, err := p.Run(&ebpf.RunOptions{Data: make([]byte, 60), Repeat: liveFrames, Flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES, BatchSize: 64}); err != nil {
			return err
		}
		rate = liveFrames / (cpu() - before).Seconds()
		return nil
	})
	return rate, err
}

// cpu is the CPU time of the calling thread.
func cpu() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// counted sends live frames from A to the sink at an end and checks that each
// arrived.
func (r *rig) counted(at testnet.End, batch int, load generator.Load) (sent generator.Sent, err error) {
	var sink generator.Receiver
	if err := at.Namespace.Do(func() (err error) { sink, err = generator.OpenSink(at.Interface, 1); return err }); err != nil {
		return sent, err
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	err = r.A.Namespace.Do(func() error {
		s, err := generator.OpenLive(r.A.Interface, r.profile(), batch)
		if err == nil {
			sent, err = s.Send(context.Background(), load)
		}
		return err
	})
	if err != nil {
		return sent, err
	}
	time.Sleep(20 * time.Millisecond)
	got, err := sink.Counts()
	if err == nil && (got.Unique != sent.Frames || got.Latency.N == 0) {
		err = fmt.Errorf("%d frames sent, %d arrived, %d stamped", sent.Frames, got.Unique, got.Latency.N)
	}
	return sent, err
}

func (r *rig) live() (float64, error) {
	s, err := r.counted(r.B, 0, generator.Load{Frames: liveFrames})
	return float64(s.Frames) / s.CPU.Seconds(), err
}

// paced sends for 2 s and a little: not a whole number of timer ticks, else the
// last frame always leaves amid the work of one.
func (r *rig) paced(rate float64) (generator.Sent, error) {
	return r.counted(r.B, 0, generator.Load{Frames: uint64(rate * 2.0017), Rate: rate})
}

func (r *rig) ported(open func(string) (port.Port, error)) (rate float64, err error) {
	err = r.dropping(func() error {
		p, err := open(r.A.Interface)
		if err != nil {
			return err
		}
		s, err := generator.NewPorted(p, r.profile())
		if err != nil {
			return errors.Join(err, p.Close())
		}
		sent, err := s.Send(context.Background(), generator.Load{Frames: portFrames})
		rate = float64(sent.Frames) / sent.CPU.Seconds()
		return errors.Join(err, s.Close())
	})
	return rate, err
}

func (r *rig) afPacket() (float64, error) { return r.ported(port.OpenRaw) }

func (r *rig) afXDP() (float64, error) {
	return r.ported(func(n string) (port.Port, error) { return port.OpenXDP(n, port.XDPOptions{SendOnly: true}) })
}

// trafgen sends the same frame by its fastest way here, the transmit ring.
func (r *rig) trafgen(b *testing.B) func() (float64, error) {
	bin := testnet.NeedTool(b, "trafgen")
	conf := filepath.Join(b.TempDir(), "frame")
	if err := os.WriteFile(conf, []byte("{ fill(0xff, 6), 2, 0, 0, 0, 0, 1, c16(0x0800), fill(0, 46) }\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	return func() (rate float64, err error) {
		err = r.dropping(func() error {
			before, err := r.A.Counters()
			if err != nil {
				return err
			}
			cmd := exec.Command(bin, "--dev", r.A.Interface, "--conf", conf, "--num", fmt.Sprint(portFrames), "--cpus", "1", "--no-cpu-stats", "--notouch-irq")
			out, err := cmd.CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			after, err := r.A.Counters()
			// Its child sends; what that takes is known once it was waited for.
			rate = float64(after.TxFrames-before.TxFrames) / (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
			return err
		})
		return rate, err
	}
}

// reflected counts at A what B sends back.
func (r *rig) reflected(b *testing.B) func() (float64, error) {
	return func() (float64, error) {
		var refl *reflect.Reflector
		if err := r.B.Namespace.Do(func() (err error) { refl, err = reflect.Attach(r.B.Interface, reflect.Options{}); return err }); err != nil {
			return 0, err
		}
		s, err := r.counted(r.A, reflectedBatch, generator.Load{Frames: liveFrames / 2})
		return float64(s.Frames) / s.CPU.Seconds(), errors.Join(err, refl.Close())
	}
}

// forwarder is a host that forwards between two links of the tester.
type forwarder struct {
	out, in testnet.End
	mac     string
	threads []int // that receive for it
}

func newForwarder(b *testing.B) *forwarder {
	tester, dut := testnet.NewNamespace(b, "tester"), testnet.NewNamespace(b, "dut")
	first, err := testnet.Connect(tester, dut, testnet.LinkOptions{})
	if err != nil {
		b.Fatal(err)
	}
	second, err := testnet.Connect(dut, tester, testnet.LinkOptions{})
	if err != nil {
		b.Fatal(err)
	}
	f := &forwarder{out: first.A, in: second.B, mac: first.B.MAC}
	before := receivers(b)
	if err := errors.Join(dut.SetSysctl("net.ipv4.ip_forward", "1"), threaded(first.B), threaded(second.A)); err != nil {
		b.Fatal(err)
	}
	// The device on one core, the generator on the other.
	for pid := range receivers(b) {
		if !before[pid] {
			if err := pin(pid, deviceCore); err != nil {
				b.Fatal(err)
			}
			f.threads = append(f.threads, pid)
		}
	}
	run := func(argv ...string) {
		if out, err := dut.Run(b.Context(), argv...); err != nil {
			b.Fatal(out, err)
		}
	}
	run(testnet.NeedTool(b, "ip"), "neigh", "add", f.in.IPv4.Addr().String(), "lladdr", f.in.MAC, "dev", second.A.Interface)
	return f
}

// threaded has a device receive on threads of its own, which makes it lose what
// it has no time for.
func threaded(e testnet.End) error {
	if err := e.SetOffload(testnet.OffloadAll); err != nil { // GRO: the peer may send XDP frames
		return err
	}
	return e.Namespace.Do(func() error {
		return os.WriteFile("/sys/class/net/"+strings.TrimSpace(e.Interface)+"/threaded", []byte("1"), 0)
	})
}

const (
	testerCore, deviceCore = 0, 1
	forwardFrames          = 6_000_000
)

// receivers are the threads that receive for devices (threaded NAPI).
func receivers(b *testing.B) map[int]bool {
	comms, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		b.Fatal(err)
	}
	out := map[int]bool{}
	for _, c := range comms {
		name, err := os.ReadFile(c)
		if err == nil && strings.HasPrefix(string(name), "napi/") { // a process may be gone by now
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(c)))
			out[pid] = true
		}
	}
	return out
}

func pin(thread, core int) error {
	var set unix.CPUSet
	set.Set(core)
	return unix.SchedSetaffinity(thread, &set)
}

// busy is the time that the device's threads have run.
func (f *forwarder) busy() (sum time.Duration, err error) {
	for _, pid := range f.threads {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		if err != nil {
			return 0, err
		}
		ns, err := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}

// measure offers as much as there is and returns what was forwarded in a second
// of the device's CPU time.
func (f *forwarder) measure() (forwarded float64, err error) {
	var sink generator.Receiver
	if err := f.in.Namespace.Do(func() (err error) { sink, err = generator.OpenSink(f.in.Interface, 1); return err }); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	p := profileOf(f.out.MAC, f.mac)
	p.SourceIP, p.DestIP = f.out.IPv4.Addr(), f.in.IPv4.Addr()
	before, err := f.busy()
	if err != nil {
		return 0, err
	}
	err = f.out.Namespace.Do(func() error {
		if err := pin(0, testerCore); err != nil {
			return err
		}
		s, err := generator.OpenLive(f.out.Interface, p, 0)
		if err == nil {
			_, err = s.Send(context.Background(), generator.Load{Frames: forwardFrames})
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	time.Sleep(200 * time.Millisecond)
	got, err := sink.Counts()
	if err == nil && got.Unique == 0 {
		err = errors.New("nothing was forwarded")
	}
	after, lookup := f.busy()
	return float64(got.Unique) / (after - before).Seconds(), errors.Join(err, lookup)
}
