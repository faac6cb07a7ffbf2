package ipsec

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
	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/internal/workload/generator"
)

// Cores of the gateway, and of everything else.
const (
	gatewayCore = 1
	otherCore   = 0
)

// rig is a generator, a gateway and a sink in a row. All that the gateway does,
// in its process and in the receive thread of its inner interface, has a core
// for itself: what comes out in a second is what a core does.
type rig struct {
	from, in, out, to testnet.End
	program           string
	napi              int // receive thread of the gateway's inner interface
}

func newRig(b *testing.B, program string) *rig {
	b.Helper()
	g, box, s := testnet.NewNamespace(b, "generator"), testnet.NewNamespace(b, "gateway"), testnet.NewNamespace(b, "sink")
	end := func(four string) testnet.EndOptions { return testnet.EndOptions{IPv4: netip.MustParsePrefix(four)} }
	first, err := testnet.Connect(g, box, testnet.LinkOptions{A: end("10.1.0.2/16"), B: end("10.1.0.1/16")})
	if err != nil {
		b.Fatal(err)
	}
	second, err := testnet.Connect(box, s, testnet.LinkOptions{A: end("198.19.1.1/24"), B: end("198.19.1.2/24")})
	if err != nil {
		b.Fatal(err)
	}
	r := &rig{from: first.A, in: first.B, out: second.A, to: second.B, program: program}
	for _, e := range []testnet.End{r.from, r.in, r.out, r.to} {
		do(b, e.Namespace, "ethtool", "-K", e.Interface, "gro", "on", "tx", "off")
	}
	if err := box.SetSysctl("net.ipv4.ip_forward", "1"); err != nil {
		b.Fatal(err)
	}
	do(b, box, "ip", "neigh", "replace", "198.19.1.2", "lladdr", r.to.MAC, "dev", r.out.Interface, "nud", "permanent")
	r.napi = testnet.ThreadNAPI(b, r.in, gatewayCore)
	// The sink goes before the generator on their core.
	if err := unix.SchedSetAttr(testnet.ThreadNAPI(b, r.to, otherCore), &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 10}, 0); err != nil {
		b.Fatal(err)
	}
	return r
}

func do(b *testing.B, n *testnet.Namespace, argv ...string) string {
	b.Helper()
	out, err := n.Run(b.Context(), argv...)
	if err != nil {
		b.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return out
}

// busy returns the CPU time of a process with its threads.
func busy(pid int) (total time.Duration) {
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil {
			ns, _ := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
			total += time.Duration(ns)
		}
	}
	return total
}

const rules = `rules:
- local: %s
  remote: %s
  with:
    local: %s
    remote: %s
    suite: %s
    mtu: 1500
    out: {spi: %#x, key: %s}
    in: [{spi: %#x, key: %s}]
%s`

// key is long enough for every combined suite.
func key(n int) string { return strings.Repeat("5a", n) }

// up starts the gateway on its core.
func (r *rig) up(b *testing.B, suite string, keyBytes int) *testnet.Process {
	b.Helper()
	file := filepath.Join(b.TempDir(), "rules.yaml")
	text := fmt.Sprintf(rules, "10.1.0.0/16", "10.9.0.0/16", "198.19.1.1", "198.19.1.2", suite, 0x1001, key(keyBytes), 0x1002, key(keyBytes), "")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	return start(b, r.in.Namespace, gatewayCore, r.program, "forward", "ipsec", "up", "--foreground", "--file", file, "--xdp", r.in.Interface+","+r.out.Interface)
}

// charon starts strongSwan at both ends of the outer link; the gateway's has its
// core.
func (r *rig) charon(b *testing.B) *testnet.Process {
	b.Helper()
	inside, beyond := netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("10.9.0.0/16")
	do(b, r.to.Namespace, "ip", "addr", "add", "10.9.0.1/32", "dev", "lo") // it wants an address of ours inside
	testnet.StartCharon(b, r.to.Namespace, testnet.CharonOptions{Local: r.to.IPv4.Addr(), Remote: r.out.IPv4.Addr(), LocalTS: beyond, RemoteTS: inside})
	c := testnet.StartCharon(b, r.in.Namespace, testnet.CharonOptions{Local: r.out.IPv4.Addr(), Remote: r.to.IPv4.Addr(), LocalTS: inside, RemoteTS: beyond, Initiate: true})
	if _, err := c.Keys(b.Context()); err != nil {
		b.Fatal(err)
	}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", c.PID()))
	if err != nil {
		b.Fatal(err)
	}
	var set unix.CPUSet
	set.Set(gatewayCore)
	for _, task := range tasks {
		pid, _ := strconv.Atoi(task.Name())
		if err := unix.SchedSetaffinity(pid, &set); err != nil {
			b.Fatal(err)
		}
	}
	time.Sleep(300 * time.Millisecond)
	return c.Process
}

func start(b *testing.B, n *testnet.Namespace, core int, argv ...string) *testnet.Process {
	b.Helper()
	p, err := n.Start(b.Context(), append([]string{"taskset", "-c", strconv.Itoa(core)}, argv...)...)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := p.Await(b.Context(), "is up"); err != nil {
		b.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	return p
}

func (r *rig) send(ctx context.Context, b *testing.B, size int, rate float64) (s generator.Sent) {
	b.Helper()
	src, err1 := net.ParseMAC(r.from.MAC)
	dst, err2 := net.ParseMAC(r.in.MAC)
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	p := generator.Profile{Sizes: []int{size}, Source: src, Dest: dst, Flows: 1, TTL: 64, SourceIP: netip.MustParseAddr("10.1.0.2"), DestIP: netip.MustParseAddr("10.9.0.9")}
	err := r.from.Namespace.Do(func() error {
		var set unix.CPUSet
		set.Set(otherCore)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return err
		}
		out, err := generator.OpenLive(r.from.Interface, p, 0)
		if err != nil {
			return err
		}
		defer out.Close()
		s, err = out.Send(ctx, generator.Load{Frames: 1 << 30, Rate: rate})
		return err
	})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		b.Error(err)
	}
	return s
}

// drop has the far end drop what comes and returns its counters of frames and
// bytes.
func (r *rig) drop(b *testing.B) (count func() (frames, bytes uint64)) {
	b.Helper()
	counter, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 16, MaxEntries: 1})
	if err != nil {
		b.Fatal(err)
	}
	const xdpDrop = 1
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "Apache-2.0", Instructions: asm.Instructions{
		asm.LoadMem(asm.R3, asm.R1, 0, asm.Word), // data
		asm.LoadMem(asm.R4, asm.R1, 4, asm.Word), // data_end
		asm.LoadMapValue(asm.R1, counter.FD(), 0),
		asm.LoadMem(asm.R2, asm.R1, 0, asm.DWord),
		asm.Add.Imm(asm.R2, 1),
		asm.StoreMem(asm.R1, 0, asm.R2, asm.DWord),
		asm.LoadMem(asm.R2, asm.R1, 8, asm.DWord),
		asm.Sub.Reg(asm.R4, asm.R3),
		asm.Add.Reg(asm.R2, asm.R4),
		asm.StoreMem(asm.R1, 8, asm.R2, asm.DWord),
		asm.Mov.Imm(asm.R0, xdpDrop),
		asm.Return(),
	}})
	if err != nil {
		b.Fatal(err)
	}
	var l link.Link
	if err := r.to.Namespace.Do(func() error {
		ifi, err := net.InterfaceByName(r.to.Interface)
		if err == nil {
			l, _, err = port.AttachXDP(program, ifi.Index)
		}
		return err
	}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close(); program.Close(); counter.Close() })
	return func() (uint64, uint64) {
		var v [2]uint64
		if err := counter.Lookup(uint32(0), &v); err != nil {
			b.Fatal(err)
		}
		return v[0], v[1]
	}
}

// build returns the program to measure.
func build(b *testing.B, given string) string {
	b.Helper()
	if given != "" {
		path, err := filepath.Abs(given)
		if err != nil {
			b.Fatal(err)
		}
		return path
	}
	path := filepath.Join(b.TempDir(), "linerate")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", path, "../../../cmd/linerate").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	return path
}
