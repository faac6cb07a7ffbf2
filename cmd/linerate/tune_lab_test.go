//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/explain"
	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/lever/auto"
	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/result"
)

// fault is something planted into a link for tune auto to find, fix and put
// back without being told.
type fault struct {
	name   string
	causes []string // numbers of the rule base that name it
	url    string   // protocol; default tcp
	args   []string // of the workload
	relay  *testnet.RelayOptions
	link   testnet.LinkOptions
	plant  func(*lab) error
	lever  string // kept in the end; "": nothing may be, since there is nothing to gain
	ended  string // how the session must have ended; "": anyhow
}

func faults() []fault {
	receiver := func(name, value string) func(*lab) error {
		return func(l *lab) error { return l.b.SetSysctl(name, value) }
	}
	const slow = 4 * time.Millisecond
	path := &testnet.RelayOptions{AB: testnet.Path{Delay: slow}, BA: testnet.Path{Delay: slow}}
	return []fault{
		{name: "receive buffer ceiling of 8 KiB", causes: []string{"R-TCP-1"}, relay: path, plant: receiver("net.ipv4.tcp_rmem", "4096 8192 8192"),
			lever: "sysctl.net.ipv4.tcp_rmem"},
		{name: "send buffer ceiling of 8 KiB", causes: []string{"R-TCP-2"}, relay: path,
			plant: func(l *lab) error { return l.a.SetSysctl("net.ipv4.tcp_wmem", "4096 8192 8192") }, lever: "sysctl.net.ipv4.tcp_wmem"},
		{name: "window scaling off over 8 ms", causes: []string{"R-TCP-3"}, relay: path,
			plant: receiver("net.ipv4.tcp_window_scaling", "0"), lever: "sysctl.net.ipv4.tcp_window_scaling"},
		{name: "offloads off at the sender", causes: []string{"R-OFF-1"}, plant: func(l *lab) error { return l.ends[0].SetOffload(testnet.OffloadNone) },
			lever: "ethtool.features."},
		{name: "MTU of 576", causes: []string{"R-CPU-4"}, relay: &testnet.RelayOptions{MTU: 576}, lever: "link.mtu"},
		{name: "gro_flush_timeout of 10 us at 25,000 packets/s", causes: []string{"R-IRQ-2"}, url: "udp", args: []string{"--rate", "25kpps", "-l", "64", "--no-offload"}, link: testnet.LinkOptions{Offload: testnet.OffloadSegments},
			plant: func(l *lab) error {
				return l.write(l.hostB, "ethtool/eth0/features", "gro: on", "sys/class/net/eth0/napi_defer_hard_irqs", "2", "sys/class/net/eth0/gro_flush_timeout", "10000")
			}, lever: "link.gro_flush_timeout"},
		{name: "connection table full", causes: []string{"R-DROP-7"}, plant: plantConntrack, lever: "sysctl.net.netfilter.nf_conntrack_max"},
		{name: "packet steering to one core", causes: []string{"R-CPU-1"}, url: "udp", args: []string{"-P", "2", "-l", "64", "--no-offload", "--rate", "60kpps"},
			plant: func(l *lab) error { return l.write(l.hostB, "sys/class/net/eth0/queues/rx-0/rps_cpus", "1") }},
		{name: "poll budget of 2", causes: []string{"R-DROP-4"}, url: "udp", args: []string{"-P", "2", "-l", "64", "--no-offload", "--rate", "50kpps"},
			plant: func(l *lab) error {
				return l.write(host.WholeBox(l.hostA), "proc/sys/net/core/netdev_budget", "2")
			}}, // what the budget costs two cores drowns in their noise
		{name: "shaped to 100 Mbit/s", causes: []string{"R-MEAS-4"}, plant: func(l *lab) error { return l.ends[0].Shape(100e6) }, ended: "at line rate"},
		{name: "shaped to 100 Mbit/s at the far end", causes: []string{"R-MEAS-4"}, args: []string{"--direction", "rx", "--time", "1s"},
			plant: func(l *lab) error { return l.ends[1].Shape(100e6) }, ended: "at line rate"},
		{name: "writes of 64 bytes", causes: []string{"R-RTOS-1", "R-APP-1", "R-CPU-4"}, args: []string{"-l", "64", "--nodelay"}, lever: "app.write-size"},
		{name: "SO_SNDBUF set by the application", causes: []string{"R-TCP-2"}, relay: path, args: []string{"--send-buffer", "4KiB"}, lever: "app.send-buffer"},
		{name: "a program hogs the receiver's core", causes: []string{"R-CPU-2", "R-TCP-7"}, args: []string{"--direction", "rx", "--affinity", "0"}, plant: plantHog, lever: "process."},
	}
}

// lab is a link with a fault.
type lab struct {
	t            *testing.T
	a, b         *testnet.Namespace
	ends         [2]testnet.End // not of a relay
	target       string
	hostA, hostB host.Host
	server       *testnet.Process
}

func newLab(t *testing.T, f fault) *lab {
	l := &lab{t: t}
	if f.relay != nil {
		l.a, l.b = testnet.NewNamespace(t, "a"), testnet.NewNamespace(t, "b")
		r, err := testnet.Join(l.a, l.b, *f.relay)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		l.target = r.B.String()
	} else {
		link := testnet.NewPair(t, f.link)
		l.a, l.b, l.ends, l.target = link.A.Namespace, link.B.Namespace, [2]testnet.End{link.A, link.B}, link.B.IPv4.Addr().String()
	}
	for n, h := range map[*testnet.Namespace]*host.Host{l.a: &l.hostA, l.b: &l.hostB} {
		in, err := host.LiveIn(n.Do)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close() })
		*h = in
	}
	return l
}

// write changes settings, which are put back after the test: some are the whole
// box's.
func (l *lab) write(h host.Host, pairs ...string) error {
	for p := range slices.Chunk(pairs, 2) {
		before := ""
		if b, err := readFile(h, p[0]); err == nil && !strings.HasPrefix(p[0], "ethtool") {
			before = b
		}
		if err := h.Write(p[0], p[1]); err != nil {
			return err
		}
		if before != "" {
			l.t.Cleanup(func() {
				if err := h.Write(p[0], before); err != nil {
					l.t.Error(err)
				}
			})
		}
	}
	return nil
}

func (l *lab) serve(ctx context.Context, self string) error {
	var err error
	if l.server, err = l.b.Start(ctx, self, "serve", "stream", "-q"); err != nil {
		return err
	}
	_, err = l.server.Await(ctx, "netperf")
	return err
}

// verdict is what a session made of a fault.
type verdict struct {
	place    int // of the cause among the hypotheses of the link as found, from 1; 0: not there
	first    string
	kept     []string
	ended    string
	problems []string
}

func (l *lab) tune(f fault, self string) verdict {
	t := l.t
	state := t.TempDir()
	url := f.url
	if url == "" {
		url = "tcp"
	}
	args := append([]string{"tune", "auto", "--state", state, "--peer-netns", fmt.Sprintf("/proc/%d/ns/net", l.server.PID()), "--json",
		"--time", "250ms", "--confirm-within", "500ms", "--pairs", "3", "--steps", "2", url + "://" + l.target}, f.args...)
	before := l.settings()
	out, err := l.a.Run(t.Context(), append([]string{self}, args...)...)
	var v verdict
	at := strings.Index(out, "{")
	if at < 0 {
		t.Fatalf("%v: %s", err, out)
	}
	var r result.Result
	if err := json.NewDecoder(strings.NewReader(out[at:])).Decode(&r); err != nil {
		t.Fatalf("%v: %s", err, out[:min(len(out), 2000)])
	}
	if err != nil {
		v.problems = append(v.problems, err.Error())
	}
	n := 0
	for _, x := range r.Findings {
		if x.Trial != "as found" {
			continue
		}
		n++
		if n == 1 {
			v.first = x.Code + " " + x.Rule
		}
		if n <= 5 {
			t.Logf("  %d %s %s %.2f: %s", n, x.Code, x.Rule, x.Confidence, x.Text)
		}
		if v.place == 0 && slices.Contains(f.causes, x.Code) {
			v.place = n
		}
	}
	for _, tr := range firstTrials(r.Trials) {
		trials := after(r.Trials, tr.Name)
		t.Logf("  %s: %s; %s Mbit/s, %s us/packet, %s packets/poll", tr.Name, tr.Note, middle(trials, "%.1f", func(f auto.Figures) float64 { return f.Goodput / 1e6 }),
			middle(trials, "%.2f", func(f auto.Figures) float64 { return f.Cost * 1e6 }), perPoll(trials))
	}
	for _, c := range r.Changes {
		v.kept = append(v.kept, c.Lever)
	}
	v.ended = r.Workload.Params["ended"]
	// Nobody confirms: the other process puts everything back.
	for range 100 {
		if l.settings() == before {
			return v
		}
		time.Sleep(100 * time.Millisecond)
	}
	v.problems = append(v.problems, "not put back: "+difference(before, l.settings()))
	return v
}

// settings are those of both ends as text.
func (l *lab) settings() string {
	var out bytes.Buffer
	for _, h := range []host.Host{l.hostA, l.hostB} {
		for _, ifname := range []string{"eth0", "relay0"} {
			_, s := host.Describe(host.WholeBox(h), ifname)
			for _, k := range slices.Sorted(maps.Keys(s)) {
				fmt.Fprintf(&out, "%s=%s\n", k, s[k])
			}
		}
	}
	return out.String()
}

func TestTuneAutoFindsPlantedFaults(t *testing.T) {
	testnet.NeedRoot(t)
	self := executable(t)
	type row struct {
		fault
		verdict
	}
	var rows []row
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			l := newLab(t, f)
			if err := l.serve(t.Context(), self); err != nil {
				t.Fatal(err)
			}
			if f.plant != nil {
				if err := f.plant(l); err != nil {
					testnet.Missing(t, "cannot be planted here: %v", err)
				}
			}
			v := l.tune(f, self)
			rows = append(rows, row{f, v})
			for _, p := range v.problems {
				t.Error(p)
			}
			if v.place == 0 || v.place > 3 {
				t.Errorf("found at place %d; first was %s", v.place, v.first)
			}
			if f.lever != "" && !slices.ContainsFunc(v.kept, func(k string) bool { return strings.HasPrefix(k, f.lever) }) {
				t.Errorf("kept %v, want %s", v.kept, f.lever)
			}
			if !strings.HasPrefix(v.ended, f.ended) {
				t.Errorf("ended: %s; want %s", v.ended, f.ended)
			}
		})
	}
	first := 0
	var table strings.Builder
	for _, r := range rows {
		if r.place == 1 {
			first++
		}
		fmt.Fprintf(&table, "| %s | %d | %s | %s | %s |\n", r.name, r.place, r.first, strings.Join(r.kept, ", "), r.verdict.ended)
	}
	t.Logf("\n| fault | place | first | kept | ended |\n| --- | --- | --- | --- | --- |\n%s%d of %d first", table.String(), first, len(rows))
	if len(rows) == len(faults()) && first < 12 {
		t.Errorf("%d of %d causes were the first hypothesis, want 12", first, len(rows))
	}
}

// At 25,000 datagrams a second a poll for each of them gives way to one for many,
// found by the loop alone.
func TestTuneAutoGathersDatagrams(t *testing.T) {
	testnet.NeedRoot(t)
	self := executable(t)
	l := newLab(t, fault{link: testnet.LinkOptions{Offload: testnet.OffloadSegments}})
	if err := l.serve(t.Context(), self); err != nil {
		t.Fatal(err)
	}
	if err := l.write(l.hostB, "ethtool/eth0/features", "gro: on"); err != nil {
		t.Fatal(err)
	}
	out, err := l.a.Run(t.Context(), self, "tune", "auto", "--state", t.TempDir(), "--peer-netns", fmt.Sprintf("/proc/%d/ns/net", l.server.PID()), "--json",
		"--time", "400ms", "--confirm-within", "500ms", "--pairs", "3", "--steps", "4", "udp://"+l.target, "--rate", "25kpps", "-l", "64", "--no-offload")
	var r result.Result
	if err != nil || json.NewDecoder(strings.NewReader(out[max(strings.Index(out, "{"), 0):])).Decode(&r) != nil {
		t.Fatalf("%v: %s", err, out[:min(len(out), 2000)])
	}
	for _, x := range firstTrials(r.Trials) {
		trials := after(r.Trials, x.Name)
		t.Logf("%s: %s packets a poll, %s us a packet; %s", x.Name, perPoll(trials), middle(trials, "%.2f", func(f auto.Figures) float64 { return f.Cost * 1e6 }), x.Note)
	}
	if !slices.ContainsFunc(r.Changes, func(c result.Change) bool { return strings.HasPrefix(c.Lever, "link.gro_flush_timeout") }) {
		t.Fatalf("kept %+v, want a software timer", r.Changes)
	}
	var batch float64
	for _, x := range after(r.Trials, r.Trials[len(r.Trials)-1].Name) {
		if n, ok := (explain.View{Values: x.Values}).Share(result.NAPIPackets, result.NAPIPolls); ok {
			batch = max(batch, n)
		}
	}
	if batch < 8 {
		t.Errorf("%.1f packets a poll, want 8", batch)
	}
}

// A session that is killed in the middle of a step leaves nothing changed: the
// process at the other end of its leash puts everything back.
func TestTuneAutoKilledIsPutBack(t *testing.T) {
	testnet.NeedRoot(t)
	self := executable(t)
	const planted = "4096 8192 8192"
	l := newLab(t, fault{})
	if err := l.serve(t.Context(), self); err != nil {
		t.Fatal(err)
	}
	if err := l.a.SetSysctl("net.ipv4.tcp_wmem", planted); err != nil {
		t.Fatal(err)
	}
	session, err := l.a.Start(t.Context(), self, "tune", "auto", "--state", t.TempDir(), "--time", "300ms", "--pairs", "3", "tcp://"+l.target)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Stop()
	standsAt := func(want bool) bool {
		for range 600 {
			v, err := l.a.Sysctl("net.ipv4.tcp_wmem")
			if err == nil && (strings.Join(strings.Fields(v), " ") == planted) == want {
				return true
			}
			time.Sleep(20 * time.Millisecond)
		}
		return false
	}
	if !standsAt(false) {
		t.Fatalf("nothing was tried:\n%s", session.Output())
	}
	if err := session.Signal(os.Kill); err != nil {
		t.Fatal(err)
	}
	if !standsAt(true) {
		t.Error("left changed after kill -9")
	}
}

func difference(a, b string) string {
	var out []string
	have := strings.Split(a, "\n")
	for line := range strings.Lines(b) {
		if l := strings.TrimSuffix(line, "\n"); !slices.Contains(have, l) {
			out = append(out, l)
		}
	}
	return strings.Join(out, ", ")
}

// plantConntrack tracks connections at the receiver in a table that is full of
// others, which are established: half-open ones would make room.
func plantConntrack(l *lab) error {
	ctx := l.t.Context()
	rules := "table inet t { chain c { type filter hook prerouting priority 0; ct state new counter accept; }; chain o { type filter hook output priority 0; ct state new counter accept; }; }"
	if out, err := l.b.Run(ctx, testnet.NeedTool(l.t, "nft"), rules); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	const entries = 60
	for range entries + 4 {
		c, err := l.a.DialContext(ctx, "tcp", net.JoinHostPort(l.target, "12865")) // netperf's
		if err != nil {
			return err
		}
		l.t.Cleanup(func() { c.Close() })
	}
	return l.write(host.WholeBox(l.hostB), "proc/sys/net/netfilter/nf_conntrack_max", strconv.Itoa(entries))
}

// plantHog runs a busy program on the core of the receiving thread.
func plantHog(l *lab) error {
	hog, err := l.a.Start(l.t.Context(), testnet.NeedTool(l.t, "taskset"), "-c", "0", testnet.NeedTool(l.t, "sh"), "-c", "while :; do :; done")
	if err != nil {
		return err
	}
	l.t.Cleanup(hog.Stop)
	return nil
}

func readFile(h host.Host, name string) (string, error) {
	f, err := h.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(f)
	return strings.TrimSpace(b.String()), err
}
