package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/internal/wire/netperf"
	"github.com/linerate/linerate/result"
)

// point is one thing to measure.
type point struct {
	udp       bool
	plain     bool   // of UDP: without segmentation and coalescing by the kernel (GSO, GRO)
	direction string // tx, rx, both
	message   int
	streams   int
	rr        bool
}

func (p point) String() string {
	switch {
	case p.rr:
		return fmt.Sprintf("TCP_RR %d B", p.message)
	case p.plain:
		return fmt.Sprintf("udp %d B plain", p.message)
	case p.udp:
		return fmt.Sprintf("udp %d B", p.message)
	}
	return fmt.Sprintf("tcp %s %d B x%d", p.direction, p.message, p.streams)
}

// sample is one measurement: goodput in bit/s, of RR transactions/s, and the
// CPU time of both ends' processes for a byte (of RR, for a transaction).
type sample struct {
	rate, cpu float64
	latency   [3]float64 // RR: p50, p99, p99.9 in seconds
}

// tool is a pair of programs.
type tool struct {
	name   string
	server *testnet.Process
	client func(p point) []string // nil: it has no such test
	parse  func(out []byte, p point) (sample, error)

	clientOnly bool // its server's CPU time can't be had: netserver's children are not waited for
}

// rig is a veth link with every tool's server at one end.
type rig struct {
	tb   testing.TB
	link *testnet.Link
	addr string
}

func newRig(b testing.TB, o testnet.Offload) *rig {
	r := &rig{tb: b, link: testnet.NewPair(b, testnet.LinkOptions{Offload: o})}
	r.addr = r.link.B.IPv4.Addr().String()
	return r
}

func (r *rig) serve(ready string, argv ...string) *testnet.Process {
	p, err := r.link.B.Namespace.Start(r.tb.Context(), argv...)
	if err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(p.Stop)
	ctx, cancel := context.WithTimeout(r.tb.Context(), 10*time.Second)
	defer cancel()
	if ready == "" {
		time.Sleep(500 * time.Millisecond)
	} else if _, err := p.Await(ctx, ready); err != nil {
		r.tb.Fatal(err)
	}
	return p
}

// cores are the sender's or client's, and the receiver's or server's.
const (
	clientCore = "0"
	serverCore = "1"
)

func (r *rig) linerate(bin string) *tool {
	return &tool{
		name: "linerate", server: r.serve("listening for netperf", bin, "serve", "stream", "--quiet"),
		client: func(p point) []string {
			proto := "tcp"
			if p.udp {
				proto = "udp"
			}
			a := []string{bin, "bench", proto, r.addr, "--json", "-t", duration.String(), "--every", "10s"}
			if p.plain {
				a = append(a, "--no-offload")
			}
			if p.rr {
				return append(a, "--rr", strconv.Itoa(p.message)) // on the cores that the system picks, like netperf's
			}
			return append(a, "-A", clientCore, "--server-affinity", serverCore, "-l", strconv.Itoa(p.message), "-P", strconv.Itoa(p.streams), "--direction", p.direction)
		},
		parse: func(out []byte, p point) (s sample, err error) {
			res, err := result.Decode(bytes.NewReader(out))
			if err != nil {
				return s, err
			}
			s.rate, _ = result.Sum(res.Totals, result.Goodput)
			if p.rr {
				s.rate, _ = result.Get(res.Totals, result.TransactionRate)
				for i, q := range []string{"0.5", "0.99", "0.999"} {
					s.latency[i], _ = result.Get(res.Totals, result.Latency, "quantile", q)
				}
			}
			return s, nil
		},
	}
}

func (r *rig) iperf3() *tool {
	bin := testnet.NeedTool(r.tb, "iperf3")
	return &tool{
		name: "iperf3", server: r.serve("listening", bin, "-s", "--forceflush", "-p", "5209"),
		client: func(p point) []string {
			if p.rr {
				return nil
			}
			a := []string{bin, "-c", r.addr, "-p", "5209", "-J", "-i", "0", "-t", strconv.Itoa(int(duration.Seconds())), "-A", clientCore + "," + serverCore,
				"-l", strconv.Itoa(p.message), "-P", strconv.Itoa(p.streams)}
			if p.udp {
				a = append(a, "-u", "-b", "0")
			}
			return append(a, map[string][]string{"rx": {"-R"}, "both": {"--bidir"}}[p.direction]...)
		},
		parse: func(out []byte, _ point) (s sample, err error) {
			out = out[max(bytes.IndexByte(out, '{'), 0):] // a warning may come first
			doc, err := iperf3.ParseOutput(out)
			if err != nil {
				return s, err
			}
			if doc.Error != "" {
				return s, errors.New(doc.Error)
			}
			s.rate, _ = result.Sum(doc.Result().Totals, result.Goodput)
			return s, nil
		},
	}
}

// netperf is not in Debian main: nil where it is not installed.
func (r *rig) netperf() *tool {
	client, err1 := exec.LookPath("netperf")
	server, err2 := exec.LookPath("netserver")
	if err := errors.Join(err1, err2); err != nil {
		fmt.Println("not possible here: netperf is not in Debian main (non-free):", err)
		return nil
	}
	return &tool{
		name: "netperf", clientOnly: true, server: r.serve("", server, "-D", "-4", "-p", "12809"),
		client: func(p point) []string {
			test := map[string]string{"tx": "TCP_STREAM", "rx": "TCP_MAERTS"}[p.direction]
			own := []string{"--", "-m", fmt.Sprintf("%d,%d", p.message, p.message)} // of either end's sends
			switch {
			case p.rr:
				test, own = "TCP_RR", []string{"--", "-r", fmt.Sprintf("%d,%d", p.message, p.message), "-k", "THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,P50_LATENCY,P99_LATENCY"}
			case p.udp:
				test, own = "UDP_STREAM", append(own, "-R", "1")
			case p.streams > 1 || test == "":
				return nil // one process a stream: no one command
			}
			a := []string{client, "-H", r.addr, "-p", "12809", "-l", strconv.Itoa(int(duration.Seconds())), "-t", test}
			if !p.rr {
				a = append(a, "-T", clientCore+","+serverCore)
			}
			return append(a, own...)
		},
		parse: func(out []byte, _ point) (s sample, err error) {
			runs, err := netperf.ParseOutput(string(out))
			if err != nil {
				return s, err
			}
			s.rate = runs[0].Throughput
			return s, nil
		},
	}
}

// clientTime separates what bash's time says from the tool's output.
const clientTime = "client-cpu-seconds"

// measure runs one test and accounts for the CPU time of both ends.
func (r *rig) measure(t *tool, p point) (sample, error) {
	argv := t.client(p)
	before := processTime(t.server.PID())
	script := `exec 3>&1; TIMEFORMAT="` + clientTime + ` %U %S"; time "$@"`
	out, err := r.link.A.Namespace.Run(r.tb.Context(), append([]string{"bash", "-c", script, "bash"}, argv...)...)
	if err != nil {
		return sample{}, fmt.Errorf("%s %s: %w", t.name, p, err)
	}
	text, timing, ok := strings.Cut(out, clientTime)
	s, err := t.parse([]byte(text), p)
	if err != nil || !ok {
		return s, fmt.Errorf("%s %s: %w", t.name, p, err)
	}
	time.Sleep(50 * time.Millisecond) // a server reaps its children
	used := processTime(t.server.PID()) - before
	for _, f := range strings.Fields(timing) {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return s, err
		}
		used += v
	}
	units := s.rate * duration.Seconds()
	if !p.rr {
		units /= 8
	}
	s.cpu = used / units
	return s, nil
}

// processTime returns the CPU seconds of a process and the children that it
// has waited for.
func processTime(pid int) float64 {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	var ticks float64
	for _, i := range []int{11, 12, 13, 14} { // utime, stime, cutime, cstime (proc(5))
		v, _ := strconv.ParseFloat(f[i], 64) // the kernel writes numbers
		ticks += v
	}
	return ticks / 100
}
