//go:build linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	via := strings.TrimSuffix(out.IPv4.Addr().String(), "1") + "2"
	dst := in.IPv4.Addr().String()
	for _, way := range []string{"live", "xdp", "packet"} {
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
	via := strings.TrimSuffix(out.IPv4.Addr().String(), "1") + "2"
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
	} {
		var out, err bytes.Buffer
		if code := run(t.Context(), cli{strings.NewReader(""), &out, &err}, c); code != exitUsage {
			t.Errorf("%v: exit status %d, want %d: %s", c, code, exitUsage, err.String())
		}
	}
}
