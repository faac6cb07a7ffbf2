//go:build linux

package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/reflect"
	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/result"
)

// device is a tester with two interfaces, and between them a host that
// forwards.
func device(t *testing.T) (tester, dut *testnet.Namespace, out, in testnet.End) {
	t.Helper()
	tester, dut = testnet.NewNamespace(t, "tester"), testnet.NewNamespace(t, "dut")
	a, err := testnet.Connect(tester, dut, testnet.LinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := testnet.Connect(dut, tester, testnet.LinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := dut.SetSysctl("net.ipv4.ip_forward", "1"); err != nil {
		t.Fatal(err)
	}
	// veth takes XDP frames only where GRO or a program is on at the peer.
	for _, e := range []testnet.End{a.A, a.B, b.A, b.B} {
		if _, err := e.Namespace.Run(t.Context(), testnet.NeedTool(t, "ethtool"), "-K", e.Interface, "gro", "on"); err != nil {
			t.Fatal(err)
		}
	}
	return tester, dut, a.A, b.B
}

// verb runs a command line inside a namespace and returns its result.
func verb(t *testing.T, n *testnet.Namespace, want int, args ...string) *result.Result {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.json")
	var stdout, stderr bytes.Buffer
	code := -1
	err := n.Do(func() error {
		code = run(t.Context(), cli{strings.NewReader(""), &stdout, &stderr}, append(args, "--out", file))
		return nil
	})
	if err != nil || code != want {
		t.Fatalf("%v: exit status %d, want %d, %v\n%s%s", args, code, want, err, stdout.String(), stderr.String())
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := result.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// process is verb in a process of its own, all of whose threads are in the
// namespace.
func process(t *testing.T, n *testnet.Namespace, args ...string) *result.Result {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "result.json")
	if out, err := n.Run(t.Context(), append(append([]string{self}, args...), "--out", file)...); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := result.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// searchVerb is verb for a search, which a stall of this machine can spoil: it says
// so, and is tried again.
func searchVerb(t *testing.T, n *testnet.Namespace, args ...string) *result.Result {
	t.Helper()
	for range 3 {
		var out, log bytes.Buffer
		code := exitFailed
		if err := n.Do(func() error {
			code = run(t.Context(), cli{strings.NewReader(""), &out, &log}, append(args, "--json"))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if code == exitFailed && strings.Contains(log.String(), "the tester fell behind") {
			continue
		}
		r, err := result.Decode(&out)
		if code != exitDone || err != nil {
			t.Fatalf("%v: exit status %d, %v\n%s", args, code, err, log.String())
		}
		return r
	}
	return verb(t, n, exitDone, args...)
}

// trialValue returns a figure of the first trial with this name.
func trialValue(t *testing.T, r *result.Result, name string, m result.Metric) float64 {
	t.Helper()
	for _, tr := range r.Trials {
		if v, ok := result.Get(tr.Values, m); ok && tr.Name == name {
			return v
		}
	}
	t.Fatalf("no %s of %q in %+v", m.Name, name, r.Trials)
	return 0
}

// Frames cross the kernel's forwarding on every way of sending, each counted.
func TestGenerateThroughADevice(t *testing.T) {
	tester, _, out, in := device(t)
	via := gateway(out)
	dst := in.IPv4.Addr().String()
	for _, way := range []string{"live", "xdp", "mixed", "packet"} {
		r := verb(t, tester, exitDone, "generate", "-i", out.Interface, "--in", in.Interface, "--src", out.IPv4.Addr().String(), "--dst", dst, "--via", via,
			"--line", "1Gbit", "--size", "128", "--rate", "2000", "--count", "1000", "--port", way)
		sent, got := trialValue(t, r, "frames", result.FramesSent), trialValue(t, r, "frames", result.FramesUnique)
		if sent != 1000 || got == 0 || got > sent || trialValue(t, r, "frames", result.FramesLost) != sent-got {
			t.Errorf("%s: %v sent, %v received", way, sent, got)
		}
		if way != "packet" && got != sent { // a packet socket loses when it is not served
			t.Errorf("%s: %v of %v frames arrived", way, got, sent)
		}
	}
}

// One arm: a reflector at the far end sends everything back.
func TestGenerateToAReflector(t *testing.T) {
	l := testnet.NewPair(t, testnet.LinkOptions{})
	var r *reflect.Reflector
	if err := l.B.Namespace.Do(func() (err error) { r, err = reflect.Attach(l.B.Interface, reflect.Options{}); return err }); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	res := verb(t, l.A.Namespace, exitDone, "generate", "-i", l.A.Interface, "--src", l.A.IPv4.Addr().String(), "--dst", l.B.IPv4.Addr().String(),
		"--line", "1Gbit", "--size", "64", "--rate", "4000", "--count", "1000")
	if lost := trialValue(t, res, "frames", result.FramesLost); lost != 0 {
		t.Errorf("%v frames lost", lost)
	}
	if c, err := r.Counts(); err != nil || c.Frames < 1000 {
		t.Errorf("reflected %+v, %v", c, err)
	}
}

// A device with a known limit: RFC 2544 and MLRsearch find the shaper's rate.
func TestThroughputOfAShapedDevice(t *testing.T) {
	tester, dut, out, in := device(t)
	via := gateway(out)
	shaped := testnet.End{Namespace: dut, Interface: "eth1"}
	const rate = 10e6 // bit/s on the wire
	if err := shaped.Shape(rate); err != nil {
		t.Fatal(err)
	}
	truth := rate / 8 / (1518 + 20)
	common := []string{"-i", out.Interface, "--in", in.Interface, "--src", out.IPv4.Addr().String(), "--dst", in.IPv4.Addr().String(), "--via", via, "--line", "20Mbit", "--size", "1518"}
	r := searchVerb(t, tester, append([]string{"rfc2544", "throughput", "--duration", "1s", "--resolution", "0.01"}, common...)...)
	// What the shaper's queue holds passes besides.
	if got := trialValue(t, r, "throughput", result.ThroughputRate); got < 0.9*truth || got > 1.35*truth {
		t.Errorf("throughput %.0f frame/s, the shaper lets %.0f through", got, truth)
	}
	if len(r.Readings) < 3 {
		t.Errorf("%d trials in the report, want all of the search", len(r.Readings))
	}
	r = searchVerb(t, tester, append([]string{"mlr", "--final", "500ms", "--sum", "1s", "--width", "0.05"}, common...)...)
	if got := trialValue(t, r, "NDR", result.ThroughputRate); got < 0.9*truth || got > 1.6*truth {
		t.Errorf("NDR %.0f frame/s, the shaper lets %.0f through", got, truth)
	}
}

func TestTesterRefusesWhatHurts(t *testing.T) {
	for _, c := range [][]string{
		{"generate"},
		{"generate", "-i", "lo", "--dst", "192.0.2.1", "--line", "1Gbit"},
		{"rfc2544", "nonsense", "-i", "lo", "--line", "1Gbit"},
		{"mlr", "-i", "lo", "--line", "1Gbit", "--loss-ratio", "1"},
		{"generate", "-i", "lo", "--line", "fast"},
		{"rfc2544", "throughput", "--preset", "nonsense", "-i", "lo"},
		{"rfc2544", "throughput", "--preset", "ndr-pdr", "-i", "lo"},
		{"generate", "-i", "lo", "--line", "1Gbit", "--modifier", "nonsense"},
		{"generate", "-i", "lo", "--line", "1Gbit", "--filters", "7"},
		{"generate", "-i", "lo", "--line", "1Gbit", "--both"},
		{"generate", "-i", "lo", "--line", "1Gbit", "--port", "nonsense"},
		{"serve", "reflect", "-i", "lo", "--via", "lo"},
		{"serve", "reflect", "-i", "lo", "--address", "nonsense"},
	} {
		var out, err bytes.Buffer
		if code := run(t.Context(), cli{strings.NewReader(""), &out, &err}, c); code != exitUsage {
			t.Errorf("%v: exit status %d, want %d: %s", c, code, exitUsage, err.String())
		}
	}
}

// Traffic in both directions at once, the load of each being the one asked for.
func TestBothDirections(t *testing.T) {
	tester, _, out, in := device(t)
	r := process(t, tester, "generate", "-i", out.Interface, "--in", in.Interface, "--src", out.IPv4.Addr().String(), "--dst", in.IPv4.Addr().String(),
		"--via", gateway(out), "--via-in", gateway(in), "--both", "--line", "1Gbit", "--size", "128", "--rate", "1000", "--count", "500")
	if sent, got := trialValue(t, r, "frames", result.FramesSent), trialValue(t, r, "frames", result.FramesUnique); sent != 1000 || got != sent {
		t.Errorf("%v sent, %v received, want 500 each way", sent, got)
	}
}

// gateway is the device's address on the link of a tester's end.
func gateway(e testnet.End) string {
	for a := e.IPv4.Masked().Addr().Next(); ; a = a.Next() {
		if a != e.IPv4.Addr() {
			return a.String()
		}
	}
}

// The modifiers of RFC 2544 section 11 reach the device, and cost no test frame.
func TestModifiers(t *testing.T) {
	tester, dut, out, in := device(t)
	snmp, err := dut.ListenPacket(t.Context(), "udp4", gateway(out)+":161")
	if err != nil {
		t.Fatal(err)
	}
	defer snmp.Close()
	rip, err := dut.ListenPacket(t.Context(), "udp4", ":520")
	if err != nil {
		t.Fatal(err)
	}
	defer rip.Close()
	for modifier, listener := range map[string]net.PacketConn{"broadcast": nil, "management": snmp, "routing": rip} {
		r := verb(t, tester, exitDone, "generate", "-i", out.Interface, "--in", in.Interface, "--src", out.IPv4.Addr().String(), "--dst", in.IPv4.Addr().String(),
			"--via", gateway(out), "--line", "1Gbit", "--size", "128", "--rate", "1000", "--count", "1200", "--modifier", modifier)
		if sent, lost := trialValue(t, r, "frames", result.FramesSent), trialValue(t, r, "frames", result.FramesLost); sent != 1200 || lost != 0 {
			t.Errorf("%s: %v of %v frames lost", modifier, lost, sent)
		}
		if listener == nil {
			continue
		}
		if err := listener.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1500)
		if n, _, err := listener.ReadFrom(b); err != nil || n < 24 {
			t.Errorf("%s: the device got %d bytes, %v", modifier, n, err)
		}
	}
}

// Without a device: into a file, through memory, and through this host's own
// stack.
func TestVirtualPorts(t *testing.T) {
	n := testnet.NewNamespace(t, "tester")
	file := filepath.Join(t.TempDir(), "frames.pcap")
	ip := testnet.NeedTool(t, "ip")
	for _, argv := range [][]string{{"tuntap", "add", "x1", "mode", "tap"}, {"tuntap", "add", "x2", "mode", "tap"},
		{"addr", "add", "198.18.5.1/24", "dev", "x1"}, {"addr", "add", "198.19.5.1/24", "dev", "x2"}, {"link", "set", "x1", "up"}, {"link", "set", "x2", "up"}} {
		if out, err := n.Run(t.Context(), append([]string{ip}, argv...)...); err != nil {
			t.Fatal(out, err)
		}
	}
	if err := n.SetSysctl("net.ipv4.ip_forward", "1"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--port", "file", "-i", file}, {"--port", "memory"}, {"--port", "tap", "-i", "x1", "--in", "x2", "--src", "198.18.5.2", "--dst", "198.19.5.2"}} {
		r := verb(t, n, exitDone, append([]string{"generate", "--line", "1Gbit", "--size", "64", "--count", "500", "--rate", "5000"}, args...)...)
		if sent, lost := trialValue(t, r, "frames", result.FramesSent), trialValue(t, r, "frames", result.FramesLost); sent != 500 || lost != 0 {
			t.Errorf("%v: %v of %v frames lost", args, lost, sent)
		}
	}
	r := verb(t, n, exitFailed, "generate", "--line", "1Gbit", "--size", "64", "--count", "5", "--port", "file", "-i", file)
	if !strings.Contains(r.Error, "written anew") {
		t.Errorf("a file that is there: %q", r.Error)
	}
}
