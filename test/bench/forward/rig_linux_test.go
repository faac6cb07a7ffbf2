package forward

import (
	"context"
	"encoding/json"
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

// rig is a generator, a router and a sink in a row. The router's receive
// thread has core 1 for itself, the rest shares core 0, so that the thread's CPU
// time is what forwarding costs.
type rig struct {
	from, to testnet.End // the outer ends
	in, out  testnet.End // the router's
	box      *testnet.Namespace
	program  string
	thread   int // of the router's NAPI towards the generator
}

// Cores of the router, and of everything else.
const (
	routerCore = 1
	otherCore  = 0
)

func newRig(b *testing.B, program string) *rig {
	b.Helper()
	g, box, s := testnet.NewNamespace(b, "generator"), testnet.NewNamespace(b, "router"), testnet.NewNamespace(b, "sink")
	end := func(four, six string) testnet.EndOptions {
		return testnet.EndOptions{IPv4: netip.MustParsePrefix(four), IPv6: netip.MustParsePrefix(six)}
	}
	first, err := testnet.Connect(g, box, testnet.LinkOptions{A: end("198.18.1.2/24", "2001:2:0:1::2/64"), B: end("198.18.1.1/24", "2001:2:0:1::1/64")})
	if err != nil {
		b.Fatal(err)
	}
	second, err := testnet.Connect(box, s, testnet.LinkOptions{A: end("198.19.1.1/24", "2001:2:0:2::1/64"), B: end("198.19.1.2/24", "2001:2:0:2::2/64")})
	if err != nil {
		b.Fatal(err)
	}
	r := &rig{from: first.A, in: first.B, out: second.A, to: second.B, box: box, program: program}
	for _, e := range []testnet.End{r.from, r.in, r.out, r.to} {
		r.do(b, e.Namespace, "ethtool", "-K", e.Interface, "gro", "on", "tx", "off")
	}
	for _, s := range []string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"} {
		if err := box.SetSysctl(s, "1"); err != nil {
			b.Fatal(err)
		}
	}
	r.do(b, box, "ip", "neigh", "replace", "198.19.1.2", "lladdr", r.to.MAC, "dev", r.out.Interface, "nud", "permanent")
	r.do(b, box, "ip", "neigh", "replace", "2001:2:0:2::2", "lladdr", r.to.MAC, "dev", r.out.Interface, "nud", "permanent")
	r.do(b, box, "ip", "neigh", "replace", "198.18.1.2", "lladdr", r.from.MAC, "dev", r.in.Interface, "nud", "permanent")
	r.do(b, box, "ip", "neigh", "replace", "2001:2:0:1::2", "lladdr", r.from.MAC, "dev", r.in.Interface, "nud", "permanent")
	r.thread = testnet.ThreadNAPI(b, r.in, routerCore)
	// The sink goes before the generator on their core: what it leaves in its
	// ring too long, the router would lose.
	if err := unix.SchedSetAttr(testnet.ThreadNAPI(b, r.to, otherCore), &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 10}, 0); err != nil {
		b.Fatal(err)
	}
	return r
}

func (r *rig) do(b *testing.B, n *testnet.Namespace, argv ...string) string {
	b.Helper()
	out, err := n.Run(b.Context(), argv...)
	if err != nil {
		b.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return out
}

// busy returns the CPU time of a thread.
func busy(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		return 0
	}
	ns, _ := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
	return time.Duration(ns)
}

// rules replaces the router's ruleset.
func (r *rig) rules(b *testing.B, text string) {
	b.Helper()
	file := filepath.Join(b.TempDir(), "rules")
	if err := os.WriteFile(file, []byte("flush ruleset\n"+text), 0o600); err != nil {
		b.Fatal(err)
	}
	r.do(b, r.box, "nft", "-f", file)
}

// up puts the fast path on and returns what takes it off.
func (r *rig) up(b *testing.B) (down func()) {
	b.Helper()
	p, err := r.box.Start(b.Context(), "taskset", "-c", strconv.Itoa(otherCore), r.program, "forward", "up", r.in.Interface, r.out.Interface,
		"--foreground", "--flows", "65536", "--recheck", "25s")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := p.Await(b.Context(), "bypass"); err != nil {
		b.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	return func() {
		p.Stop()
		r.do(b, r.box, r.program, "forward", "down")
	}
}

func (r *rig) profile(b *testing.B, size, flows int, six bool) generator.Profile {
	b.Helper()
	src, err1 := net.ParseMAC(r.from.MAC)
	dst, err2 := net.ParseMAC(r.in.MAC)
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	p := generator.Profile{Sizes: []int{size}, Source: src, Dest: dst, Flows: flows, Shuffled: flows > 1, TTL: 64,
		SourceIP: r.from.IPv4.Addr(), DestIP: r.to.IPv4.Addr()}
	if six {
		p.SourceIP, p.DestIP, p.Sizes[0] = r.from.IPv6.Addr(), r.to.IPv6.Addr(), max(size, 86)
	}
	return p
}

// send offers frames from the generator's end, on the other core.
func (r *rig) send(ctx context.Context, p generator.Profile, l generator.Load) (s generator.Sent, err error) {
	err = r.from.Namespace.Do(func() error {
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
		s, err = out.Send(ctx, l)
		return err
	})
	return s, err
}

// answer sends each flow a few times at a rate the stack takes and has them
// answered, so that conntrack takes them for established; with the fast path,
// until it holds nearly all.
func (r *rig) answer(b *testing.B, p generator.Profile, fast bool) {
	b.Helper()
	defer r.reflect(b)()
	held := 0
	for round := range 12 {
		if _, err := r.send(b.Context(), p, generator.Load{Frames: uint64(max(p.Flows, 2000)), Rate: 40_000}); err != nil {
			b.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		if !fast && round == 3 {
			return
		}
		if fast {
			if held = r.held(b); round > 1 && held*100 >= p.Flows*97 { // RFC 4814's ports have some twice
				return
			}
		}
	}
	b.Fatalf("%d of %d connections became fast\n%s", held, p.Flows, r.do(b, r.box, r.program, "forward", "show"))
}

// reflect has the sink send back what comes.
func (r *rig) reflect(b *testing.B) (end func()) {
	b.Helper()
	var back *reflect.Reflector
	err := r.to.Namespace.Do(func() (err error) {
		back, err = reflect.Attach(r.to.Interface, reflect.Options{})
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return func() { back.Close() }
}

// held returns how many connections the fast path has.
func (r *rig) held(b *testing.B) int {
	b.Helper()
	var s struct{ Flows int }
	if err := json.Unmarshal([]byte(r.do(b, r.box, r.program, "forward", "show", "--json")), &s); err != nil {
		b.Fatal(err)
	}
	return s.Flows
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
	out, err := exec.CommandContext(b.Context(), "go", "build", "-o", path, "../../../cmd/linerate").CombinedOutput()
	if err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// drop has the far end drop what comes, at the least cost, and returns its
// counter.
func (r *rig) drop(b *testing.B) (count func() uint64) {
	b.Helper()
	counter, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		b.Fatal(err)
	}
	const xdpDrop = 1
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "Apache-2.0", Instructions: asm.Instructions{
		asm.LoadMapValue(asm.R1, counter.FD(), 0), // one NAPI counts: it need not be atomic
		asm.LoadMem(asm.R2, asm.R1, 0, asm.DWord),
		asm.Add.Imm(asm.R2, 1),
		asm.StoreMem(asm.R1, 0, asm.R2, asm.DWord),
		asm.Mov.Imm(asm.R0, xdpDrop),
		asm.Return(),
	}})
	if err != nil {
		b.Fatal(err)
	}
	var l link.Link
	err = r.to.Namespace.Do(func() error {
		ifi, err := net.InterfaceByName(r.to.Interface)
		if err == nil {
			l, _, err = port.AttachXDP(program, ifi.Index)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close(); program.Close(); counter.Close() })
	return func() (n uint64) {
		if err := counter.Lookup(uint32(0), &n); err != nil {
			b.Fatal(err)
		}
		return n
	}
}
