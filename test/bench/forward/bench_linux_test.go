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
	built  = flag.String("linerate", "", "measure this `program` instead of building ours")
	ways   = flag.String("ways", "kernel,fast,bare", "what to measure")
	took   = flag.Duration("time", 1500*time.Millisecond, "length of a measurement")
)

// kase is one row of the table.
type kase struct {
	name  string
	rules string
	flows int
	six   bool
	bar   float64 // times faster than the kernel
	bare  string  // the least program that does the like: "fib" or "napt"
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
		{"IPv4", "", 1, false, 4.5, "fib"},
		{"IPv6", "", 1, true, 4.5, "fib"},
		{"firewall", firewall, 1, false, 8, "napt"},
		{"firewall IPv6", firewall, 1, true, 8, "fib"},
		{"firewall and 100 rules", linear, 1, false, 8, "napt"},
		{"masquerade", firewall + masquerade, 1, false, 9, "napt"},
		{"masquerade, 64k flows", firewall + masquerade, 1 << 16, false, 15, "napt"},
	}
}

// BenchmarkForward compares CPU time per frame of 64 bytes.
func BenchmarkForward(b *testing.B) {
	program := build(b, *built)
	wanted := regexp.MustCompile(*only)
	fmt.Printf("\n%-24s", "64-byte frames, ns each")
	for _, way := range strings.Split(*ways, ",") {
		fmt.Printf(" %22s", way)
	}
	fmt.Printf(" %16s %16s\n", "kernel/fast", "bare/fast")
	for _, k := range cases() {
		if !wanted.MatchString(k.name) {
			continue
		}
		each := map[string][]float64{}
		for range *rounds {
			for _, way := range strings.Split(*ways, ",") {
				each[way] = append(each[way], cost(b, program, k, way))
			}
		}
		fmt.Printf("%-24s", k.name)
		medians := map[string]float64{}
		for _, way := range strings.Split(*ways, ",") {
			s := result.Summarize(each[way])
			medians[way] = s.Median
			fmt.Printf(" %5.0f (%5.0f to %5.0f)", s.Median, s.Min, s.Max)
		}
		verdict(medians["kernel"]/medians["fast"], k.bar)
		verdict(medians["bare"]/medians["fast"], 0.9)
		fmt.Println()
	}
	b.ReportMetric(0, "ns/op") // the table is the result
}

func verdict(ratio, bar float64) {
	fmt.Printf("  %5.2f of %4.1f %s", ratio, bar, map[bool]string{true: "ok  ", false: "MISS"}[ratio >= bar])
}

// cost returns the CPU time in ns that the router's thread spends on a frame
// that comes out.
func cost(b *testing.B, program string, k kase, way string) float64 {
	b.Helper()
	r := newRig(b, program)
	if way != "bare" {
		r.rules(b, k.rules)
	}
	switch way {
	case "fast":
		defer r.up(b)()
	case "bare":
		defer r.bare(b, k.bare == "napt")()
	}
	p := r.profile(b, 64, k.flows, k.six)
	if k.rules != "" && way != "bare" {
		r.answer(b, p, way == "fast")
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
		fmt.Printf("  %s, %s: %.2f Mpps came out, the router's core was %.0f %% busy\n", k.name, way, float64(frames)/took.Seconds()/1e6, 100*spent.Seconds()/took.Seconds())
		if way == "fast" {
			fmt.Println(r.do(b, r.box, program, "forward", "show"))
		}
	}
	return float64(spent.Nanoseconds()) / float64(frames)
}
