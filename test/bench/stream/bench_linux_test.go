// Package stream compares our TCP and UDP bench with iperf3 and netperf: in one
// run, on one veth link, in turns, with offloads on and off. "make bench" runs
// it; netperf takes part where it is installed.
package stream

import (
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/result"
)

var (
	rounds = flag.Int("rounds", 5, "rounds of every test; the medians are shown")
	binary = flag.String("linerate", "", "measure this `program` instead of building ours")
	state  = flag.String("offloads", "on,off", "offload states of the link's devices to measure in, of `on,off`")
	only   = flag.String("only", "", "measure only points whose text, such as \"tcp tx 64 B x1\", matches this `regexp`")
)

// duration of one measurement: iperf3 and netperf take whole seconds.
const duration = time.Second

func points() (all []point) {
	for _, streams := range []int{1, 8} {
		for _, direction := range []string{"tx", "rx", "both"} {
			for _, m := range []int{64, 128, 256, 512, 1024, 1448, 2048, 4096, 8192, 16384, 32768, 65536} {
				all = append(all, point{direction: direction, message: m, streams: streams})
			}
		}
	}
	for _, m := range []int{64, 512, 1472} {
		all = append(all, point{udp: true, direction: "tx", message: m, streams: 1}, point{udp: true, plain: true, direction: "tx", message: m, streams: 1})
	}
	return append(all, point{rr: true, message: 1, streams: 1})
}

// BenchmarkStream prints the comparison and each bar as reached or missed. It
// measures once, whatever b.N is.
func BenchmarkStream(b *testing.B) {
	pattern, err := regexp.Compile(*only)
	if err != nil {
		b.Fatalf("-only: %v", err)
	}
	bin := *binary
	if bin == "" {
		bin = filepath.Join(b.TempDir(), "linerate")
		if out, err := exec.Command("go", "build", "-o", bin, "github.com/linerate/linerate/cmd/linerate").CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	for _, o := range []struct {
		name string
		set  testnet.Offload
	}{{"on", testnet.OffloadAll}, {"off", testnet.OffloadSegments}} {
		if !slices.Contains(strings.Split(*state, ","), o.name) {
			continue
		}
		r := newRig(b, o.set)
		tools := []*tool{r.linerate(bin), r.iperf3()}
		if n := r.netperf(); n != nil {
			tools = append(tools, n)
		}
		fmt.Printf("\nstreams side by side: %d processors, veth, offloads %s, %v a test, medians of %d rounds in turns (min-max);\n"+
			"Mbit/s at the receiver, CPU of both ends' processes in ns/B (netperf: of the client alone; RR: transactions/s and us each)\n",
			runtime.NumCPU(), o.name, duration, *rounds)
		for _, p := range points() {
			if pattern.MatchString(p.String()) {
				compare(r, tools, p)
			}
		}
	}
	b.ReportMetric(0, "ns/op") // the table is the result
}

// compare measures one point with every tool in turns and judges it.
func compare(r *rig, tools []*tool, p point) {
	rates, cpus, lats := map[string][]float64{}, map[string][]float64{}, [3][]float64{}
	for range *rounds {
		for _, t := range tools {
			if t.client(p) == nil {
				continue
			}
			s, err := r.measure(t, p)
			if err != nil {
				r.tb.Errorf("%v", err)
				continue
			}
			rates[t.name], cpus[t.name] = append(rates[t.name], s.rate), append(cpus[t.name], s.cpu)
			for i, l := range s.latency {
				if l > 0 {
					lats[i] = append(lats[i], l)
				}
			}
		}
	}
	scale, unit := 1e6, 1e9
	if p.rr {
		scale, unit = 1, 1e6
	}
	fmt.Printf("%-20s", p)
	for _, t := range tools {
		s := result.Summarize(rates[t.name])
		if s.N == 0 {
			fmt.Printf("  %-9s %33s", t.name, "-")
			continue
		}
		fmt.Printf("  %-9s %8.0f (%.0f-%.0f) %.2f", t.name, s.Median/scale, s.Min/scale, s.Max/scale, result.Summarize(cpus[t.name]).Median*unit)
	}
	fmt.Println("  " + verdict(tools, rates, cpus, p))
	if p.rr {
		fmt.Printf("%-20s  linerate latency p50 %.1f p99 %.1f p99.9 %.1f us\n", "", 1e6*result.Summarize(lats[0]).Median,
			1e6*result.Summarize(lats[1]).Median, 1e6*result.Summarize(lats[2]).Median)
	}
}

// verdict compares ours with the better of the others.
func verdict(tools []*tool, rates, cpus map[string][]float64, p point) string {
	ours := result.Summarize(rates[tools[0].name]).Median
	best, cheapest := 0.0, 0.0
	for _, t := range tools[1:] {
		if s := result.Summarize(rates[t.name]); s.N > 0 {
			best = max(best, s.Median)
			if t.clientOnly {
				continue
			}
			if c := result.Summarize(cpus[t.name]).Median; cheapest == 0 || c < cheapest {
				cheapest = c
			}
		}
	}
	if best == 0 {
		return "no other"
	}
	want := 1.0
	switch {
	case p.udp:
		want = 1.5
	case p.rr:
		want = 0.95
	}
	word := "reached"
	if ours < want*best {
		word = "MISSED "
	}
	text := fmt.Sprintf("%s %.2f >= %.2f", word, ours/best, want)
	if cheapest > 0 {
		text += fmt.Sprintf("; CPU %.2f <= 1", result.Summarize(cpus[tools[0].name]).Median/cheapest)
	}
	return text
}
