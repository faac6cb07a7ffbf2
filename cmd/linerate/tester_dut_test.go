//go:build linux

package main

import (
	"context"
	"errors"
	"math"
	"net"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/search"
	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/internal/workload/generator"
	"github.com/linerate/linerate/result"
)

// known is a device of which everything is known: it forwards rate frames a
// second from one interface to another, holds so many in a ring, and drops what
// does not fit.
func known(t *testing.T, dut *testnet.Namespace, from, to string, rate float64, ring int) {
	t.Helper()
	state, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { state.Close() })
	const pass, drop = 2, 1
	interval := int32(math.Round(1e9 / rate))
	err = dut.Do(func() error {
		in, err1 := net.InterfaceByName(from)
		out, err2 := net.InterfaceByName(to)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		// The time at which the ring is empty (ITU-T I.371 GCRA) is all its state.
		p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "GPL", Instructions: asm.Instructions{
			asm.LoadMem(asm.R2, asm.R1, 0, asm.Word), // data
			asm.LoadMem(asm.R3, asm.R1, 4, asm.Word), // data_end
			asm.Mov.Reg(asm.R4, asm.R2),
			asm.Add.Imm(asm.R4, 14),
			asm.JGT.Reg(asm.R4, asm.R3, "pass"),
			asm.LoadMem(asm.R4, asm.R2, 12, asm.Byte),
			asm.JNE.Imm(asm.R4, 8, "pass"), // not IPv4, or ARP
			asm.LoadMem(asm.R4, asm.R2, 13, asm.Byte),
			asm.JNE.Imm(asm.R4, 0, "pass"),
			asm.StoreImm(asm.RFP, -4, 0, asm.Word),
			asm.Mov.Reg(asm.R2, asm.RFP),
			asm.Add.Imm(asm.R2, -4),
			asm.LoadMapPtr(asm.R1, state.FD()),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "drop"),
			asm.Mov.Reg(asm.R6, asm.R0),
			asm.FnKtimeGetNs.Call(),
			asm.LoadMem(asm.R7, asm.R6, 0, asm.DWord),
			asm.JGE.Reg(asm.R7, asm.R0, "busy"),
			asm.Mov.Reg(asm.R7, asm.R0), // empty since
			asm.Mov.Reg(asm.R8, asm.R7).WithSymbol("busy"),
			asm.Sub.Reg(asm.R8, asm.R0),
			asm.JGT.Imm(asm.R8, int32(ring)*interval, "drop"),
			asm.Add.Imm(asm.R7, interval),
			asm.StoreMem(asm.R6, 0, asm.R7, asm.DWord),
			asm.Mov.Imm(asm.R1, int32(out.Index)),
			asm.Mov.Imm(asm.R2, 0),
			asm.FnRedirect.Call(),
			asm.Return(),
			asm.Mov.Imm(asm.R0, pass).WithSymbol("pass"),
			asm.Return(),
			asm.Mov.Imm(asm.R0, drop).WithSymbol("drop"),
			asm.Return(),
		}})
		if err != nil {
			return err
		}
		l, _, err := port.AttachXDP(p, in.Index)
		if err == nil {
			t.Cleanup(func() { l.Close(); p.Close() })
		}
		return err
	})
	if err != nil {
		t.Fatalf("%+v", err)
	}
}

// A device with a known rate and ring is found to be that, within one
// resolution of the search; a stall of this machine may spoil a try.
func TestKnownDevice(t *testing.T) {
	const rate, ring, resolution, seconds = 2000.0, 200, 0.01, 1.0
	tester, dut, out, in := device(t)
	known(t, dut, "eth0", "eth1", rate, ring)
	args := []string{"-i", out.Interface, "--in", in.Interface, "--src", out.IPv4.Addr().String(), "--dst", in.IPv4.Addr().String(), "--via", gateway(out),
		"--line", "10Mbit", "--size", "256", "--duration", "1s", "--resolution", "0.01"}
	line := 10e6 / 8 / (256 + 20)
	var found, buffer float64
	for range 4 {
		r := searchVerb(t, tester, append([]string{"rfc2544", "b2b"}, args...)...)
		found = trialValue(t, r, "throughput", result.ThroughputRate)
		buffer = trialValue(t, r, "b2b", result.BufferSeconds) * line
		// In a trial the ring fills besides; and it is part of every burst.
		truth := rate + ring/seconds
		if math.Abs(found-truth) <= resolution*line+1 && math.Abs(buffer-ring*(1-truth/line)/(1-rate/line)) <= 12 {
			return
		}
		t.Logf("found %.0f frame/s and a buffer of %.0f frames", found, buffer)
	}
	t.Errorf("found %.0f frame/s and a buffer of %.0f frames, want %.0f and about %d", found, buffer, rate+ring/seconds, ring)
}

// The field report's set-up: 1,500-byte frames on Gigabit Ethernet carry
// 956.579 Mbit/s of UDP payload, 82,236 frames a second.
func TestP1020Arithmetic(t *testing.T) {
	r := &rig{o: &testerOptions{lineRate: 1e9}, directions: []*direction{{profile: generator.Profile{Sizes: []int{1500}}}}}
	b := &bench2544{m: &measurer{rig: r}}
	if got := r.lineLimit() * 8 * b.payload() / 1e6; math.Abs(got-956.579) > 0.0005 || math.Floor(r.lineLimit()) != 82236 {
		t.Errorf("%.3f Mbit/s of %.0f frame/s", got, r.lineLimit())
	}
	// Pktgen-DPDK issue 62 shows 97,152 frames a second of 1,280 bytes, where the
	// line carries 96,153.
	r.directions[0].profile.Sizes = []int{1280}
	if got := math.Floor(r.lineLimit()); got != 96153 {
		t.Errorf("%v frames of 1,280 bytes a second", got)
	}
}

// No rate above the line's is offered.
func TestNoRateAboveTheLine(t *testing.T) {
	n := testnet.NewNamespace(t, "tester")
	verb(t, n, exitUsage, "generate", "--port", "memory", "--line", "1Gbit", "--size", "1280", "--rate", "97152")
}

// tardy is a tester that cannot keep up, or a device whose frames come late.
type tardy struct {
	overwhelmed
	slow  float64       // offers so much less
	late  time.Duration // after sending
	ended time.Time
}

func (d *tardy) Send(ctx context.Context, l generator.Load) (generator.Sent, error) {
	s, err := d.overwhelmed.Send(ctx, l)
	s.Duration = time.Duration(float64(s.Duration) * (1 + d.slow))
	d.ended = time.Now()
	return s, err
}

func (d *tardy) Counts() (r generator.Received, _ error) {
	if r.Unique = d.last.Frames - 10; time.Since(d.ended) >= d.late {
		r.Unique = d.last.Frames
	}
	r.Frames = r.Unique
	return r, nil
}

// Inline, a veth device can lose nothing: it slows the tester down. A load that
// was not offered is the tester's failure, never a pass.
func TestOfferedBelowIntendedIsInvalid(t *testing.T) {
	d := &tardy{slow: 0.02}
	m := &measurer{rig: &rig{directions: []*direction{{sender: d, sink: d}}}}
	if _, err := m.Measure(t.Context(), search.TrialInput{Load: 900, Duration: time.Second}); !errors.Is(err, search.ErrInvalid) {
		t.Errorf("%v, want ErrInvalid", err)
	}
}

// Counters read while frames are under way show a loss that is none (TRex pull
// request 1212).
func TestLateFramesAreNoLoss(t *testing.T) {
	d := &tardy{late: 100 * time.Millisecond}
	m := &measurer{rig: &rig{directions: []*direction{{sender: d, sink: d}}}, phases: quickPhases()}
	out, err := m.Measure(t.Context(), search.TrialInput{Load: 900, Duration: time.Second})
	if err != nil || out.LossRatio != 0 {
		t.Errorf("loss ratio %v, %v", out.LossRatio, err)
	}
}
