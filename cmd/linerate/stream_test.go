package main

import (
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/result"
)

// serveStream runs "serve stream" and returns its iperf3 and netperf addresses.
func serveStream(t *testing.T) (iperf3, netperf string) {
	t.Helper()
	said := &lines{}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan int, 1)
	go func() {
		over <- run(ctx, cli{strings.NewReader(""), said, said}, []string{"serve", "stream", "--bind", "127.0.0.1", "--port", "0", "--netperf-port", "0"})
	}()
	t.Cleanup(func() {
		stop()
		if status := <-over; status != exitDone {
			t.Errorf("serve stream ended with %d: %s", status, said)
		}
	})
	for range 500 {
		addr := map[string]string{}
		for line := range strings.Lines(said.String()) {
			if f := strings.Fields(line); len(f) == 5 && f[0] == "listening" {
				addr[f[2]] = f[4]
			}
		}
		if len(addr) == 2 {
			return addr["iperf3"], addr["netperf"]
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("serve stream said only %q", said)
	return "", ""
}

func TestStreamVerbs(t *testing.T) {
	ip, np := serveStream(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "result.json")
	for _, c := range []struct {
		args   string
		status int
		want   string // in what it prints
	}{
		{"bench tcp " + ip + " -t 200ms", exitDone, "goodput"},
		{"bench tcp " + ip + " -t 200ms -R -P 2 --out " + file, exitDone, "goodput"},
		{"bench udp " + ip + " -t 200ms -b 10Mbit/s", exitDone, "jitter"},
		{"bench tcp " + np + " -t 200ms --rr 1", exitDone, "transactions"},
		{"bench udp " + np + " -t 200ms --rr 100,200", exitDone, "latency"},
		{"bench tcp " + ip + " --preset nios", exitDone, "messages=30"},
		{"bench udp " + ip + " --preset nios", exitDone, "messages=50"},
		{"bench tcp " + ip + " -t 200ms --expect 1Pbit/s", exitMissed, "target missed"},
		{"bench tcp " + ip + " -t 200ms --iperf3-json", exitDone, `"sum_received"`},
		{"bench tcp " + ip + " -l 1x", exitUsage, "--message"},
		{"bench tcp " + ip + " -R --bidir", exitUsage, "exclude"},
		{"bench tcp " + ip + " --dscp 64", exitUsage, "--dscp"},
		{"bench tcp " + ip + " --dialect ttcp", exitUsage, "--dialect"},
		{"bench tcp " + ip + " --preset zynq", exitUsage, "--preset"},
		{"bench udp " + ip + " -l 70000", exitUsage, "65507"},
		{"bench tcp 127.0.0.1:1 -t 1s", exitFailed, "refused"},
		{"import " + file, exitFailed, "not JSON of iperf3"},
		{"serve stream --port -1 --netperf-port -1", exitUsage, "both off"},
	} {
		status, out, errs := shell(t, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s: status %d, want %d and %q: %s%s", c.args, status, c.status, c.want, out, errs)
		}
	}
}

// The bound of a message follows from its frames (IEEE 802.3 3.1.1, 4.4.2).
func TestLineLimit(t *testing.T) {
	l := line{rate: 1e9, mtu: 1500}
	for _, c := range []struct {
		test stream.Test
		want float64 // Mbit/s
	}{
		{stream.Test{Protocol: stream.TCP, Message: 64}, 941.482}, // Nagle's algorithm fills the frames
		{stream.Test{Protocol: stream.TCP, Message: 1448, Socket: stream.Socket{NoDelay: true}}, 941.482},
		{stream.Test{Protocol: stream.TCP, Message: 1449, Socket: stream.Socket{NoDelay: true}}, 1449 * 1e3 / (1538 + 91)},
		{stream.Test{Protocol: stream.UDP, Message: 1472}, 957.087},
		{stream.Test{Protocol: stream.UDP, Message: 18}, 214.286}, // a frame of 64 bytes
		{stream.Test{Protocol: stream.TCP, Message: 64, Request: 1}, 0},
	} {
		if got := l.limit(c.test) / 1e6; math.Abs(got-c.want) > 0.001 {
			t.Errorf("%+v: %.3f, want %.3f", c.test, got, c.want)
		}
	}
}

// TestSweepCapture wants a verdict of the capture for each size.
func TestSweepCapture(t *testing.T) {
	testnet.NeedRoot(t)
	ip, _ := serveStream(t)
	status, out, errs := shell(t, "bench", "tcp", ip, "--sweep", "512,8192", "--direction", "tx", "--capture", "-t", "200ms", "--json")
	if status != exitDone {
		t.Fatalf("status %d: %s", status, errs)
	}
	r, err := result.Decode(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range r.Trials {
		if i := slices.IndexFunc(r.Findings, func(f result.Finding) bool {
			return strings.HasPrefix(f.Trial, x.Name+" tx: ") && strings.HasPrefix(f.Rule, "tcp.")
		}); i < 0 || x.Note != r.Findings[i].Text {
			t.Errorf("%s: no finding of its capture in %d; its note: %s", x.Name, len(r.Findings), x.Note)
		}
	}
}

// A sweep has a trial for each size, direction and repeat, with the bound of
// the line, and a cost of each direction.
func TestSweep(t *testing.T) {
	ip, _ := serveStream(t)
	status, out, errs := shell(t, "bench", "tcp", ip, "--sweep", "256,4096", "--repeats", "2", "--nodelay", "-t", "100ms", "--line", "1Gbit/s", "--json")
	if status != exitDone {
		t.Fatalf("status %d: %s", status, errs)
	}
	r, err := result.Decode(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Trials) != 8 {
		t.Fatalf("%d trials, want 2 sizes, 2 directions, 2 repeats", len(r.Trials))
	}
	// Without Nagle's algorithm each message is a frame of its own on loopback,
	// whose MTU is 65,536: 52 bytes of IP and TCP, 38 byte times of Ethernet.
	want := map[string]float64{"256": 1e9 * 256 / (256 + 52 + 38), "4096": 1e9 * 4096 / (4096 + 52 + 38)}
	for i, x := range r.Trials {
		if i < 4 && x.Params[repeatParam] != "1" {
			t.Errorf("trial %d is of repeat %s: repeats must take turns", i, x.Params[repeatParam])
		}
		if v, ok := result.Get(x.Values, result.Goodput); !ok || v <= 0 || !x.Pass {
			t.Errorf("%s %s: goodput %v", x.Name, x.Params[directionParam], v)
		}
		if v, _ := result.Get(x.Values, result.LineLimit); v < 0.999999*want[x.Params[messageParam]] || v > 1.000001*want[x.Params[messageParam]] {
			t.Errorf("%s: line limit %v, want %v", x.Name, v, want[x.Params[messageParam]])
		}
	}
	for _, dir := range []string{"tx", "rx"} {
		if _, ok := result.Get(r.Totals, result.Goodput, "direction", dir); !ok {
			t.Errorf("no goodput %s in %v", dir, r.Totals)
		}
	}
}

func TestImport(t *testing.T) {
	for name, want := range map[string]string{
		"../../internal/wire/iperf3/testdata/udp-3.12.json": "udp_stream",
		"../../internal/wire/netperf/testdata/netperf.txt":  "netperf",
	} {
		status, out, errs := shell(t, "import", name, "--json")
		var r result.Result
		if err := json.Unmarshal([]byte(out), &r); status != exitDone || err != nil || r.Origin != result.Imported || r.Workload.Kind != want {
			t.Errorf("%s: status %d, %v, %s %s: %s", name, status, err, r.Origin, r.Workload.Kind, errs)
		}
	}
}
