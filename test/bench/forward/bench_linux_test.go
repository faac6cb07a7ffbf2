// Package forward measures what the router's core spends on a frame: through
// the kernel alone and with the fast path, on one veth topology in one run. "make
// bench" runs it.
package forward

import (
	"context"
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/workload/generator"
	"github.com/linerate/linerate/result"
)

var (
	rounds = flag.Int("rounds", 5, "rounds of every measurement; the medians are judged")
	only   = flag.String("only", "", "measure the cases whose name matches `REGEXP`")
	binary = flag.String("linerate", "", "measure this `program` instead of building ours")
	took   = flag.Duration("time", 1500*time.Millisecond, "length of a measurement")
)

// kase is one row of the table.
type kase struct {
	name  string
	rules string
	flows int
	six   bool
	bar   float64 // times faster than the kernel
}

const firewall = `table inet fw { chain forward { type filter hook forward priority 0; policy drop;
ct state invalid counter drop
ct state established,related counter accept
iifname "eth0" accept
}
}
`

const masquerade = `table ip nat { chain postrouting { type nat hook postrouting priority 100;
oifname "eth1" masquerade
}
}
`

func cases() []kase {
	linear := strings.Replace(firewall, "ct state invalid", strings.Repeat("udp dport 9999 counter drop\n", 100)+"ct state invalid", 1)
	return []kase{
		{"IPv4", "", 1, false, 4.5},
		{"IPv6", "", 1, true, 4.5},
		{"firewall", firewall, 1, false, 8},
		{"firewall IPv6", firewall, 1, true, 8},
		{"firewall and 100 rules", linear, 1, false, 8},
		{"masquerade", firewall + masquerade, 1, false, 9},
	}
}

// BenchmarkForward compares CPU time per frame of 64 bytes.
func BenchmarkForward(b *testing.B) {
	program := build(b, *binary)
	wanted := regexp.MustCompile(*only)
	fmt.Printf("\n%-26s %22s %22s %8s %6s\n", "64-byte frames", "kernel ns (Mpps)", "fast path ns (Mpps)", "ratio", "bar")
	for _, k := range cases() {
		if !wanted.MatchString(k.name) {
			continue
		}
		var kernel, fast []float64
		for range *rounds {
			kernel = append(kernel, cost(b, program, k, false))
			fast = append(fast, cost(b, program, k, true))
		}
		a, f := result.Summarize(kernel), result.Summarize(fast)
		ratio := a.Median / f.Median
		fmt.Printf("%-26s %12.0f (%6.2f) %12.0f (%6.2f) %9.1f %6.1f %s   min-max %.0f-%.0f, %.0f-%.0f\n", k.name, a.Median, 1000/a.Median, f.Median, 1000/f.Median, ratio, k.bar,
			map[bool]string{true: "reached", false: "MISSED"}[ratio >= k.bar], a.Min, a.Max, f.Min, f.Max)
	}
	b.ReportMetric(0, "ns/op") // the table is the result
}

// cost returns the CPU time in ns that the router's thread spends on a frame
// that comes out.
func cost(b *testing.B, program string, k kase, fast bool) float64 {
	b.Helper()
	r := newRig(b, program)
	r.rules(b, k.rules)
	if fast {
		defer r.up(b)()
	}
	p := r.profile(b, 64, k.flows, k.six)
	if k.rules != "" {
		r.answer(b, p)
	}
	sink := r.drop(b)
	warm, cancel := context.WithTimeout(b.Context(), 200*time.Millisecond)
	r.send(warm, p, generator.Load{Frames: 1 << 30})
	cancel()
	time.Sleep(100 * time.Millisecond)
	before, frames := busy(r.thread), sink()
	ctx, cancel := context.WithTimeout(b.Context(), *took)
	defer cancel()
	r.send(ctx, p, generator.Load{Frames: 1 << 30})
	time.Sleep(200 * time.Millisecond)
	spent := busy(r.thread) - before
	frames = sink() - frames
	if frames == 0 {
		b.Fatalf("%s: nothing came out", k.name)
	}
	if testing.Verbose() {
		fmt.Printf("  %s, fast path %v: %.2f Mpps came out, the router's core was %.0f %% busy\n", k.name, fast, float64(frames)/took.Seconds()/1e6, 100*spent.Seconds()/took.Seconds())
	}
	return float64(spent.Nanoseconds()) / float64(frames)
}
