package forward

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/workload/generator"
	"github.com/linerate/linerate/result"
)

// gigabit is the frame rate of Gigabit Ethernet at its largest frame: 1,518
// bytes, and 20 of preamble and gap (RFC 2544 appendix B).
const gigabit = 1e9 / 8 / (1518 + 20)

// BenchmarkGigabit compares what a core does at the line rate of Gigabit
// Ethernet, with and without the coalescing that "linerate tune apply" sets.
func BenchmarkGigabit(b *testing.B) {
	program := build(b, *built)
	fmt.Printf("\n%-34s %24s %20s\n", "1,518-byte frames at 1 Gbit/s", "router's core, %", "packets a wake-up")
	for _, k := range []struct {
		name            string
		fast, coalesced bool
	}{{"kernel", false, false}, {"fast path", true, false}, {"kernel, coalesced", false, true}, {"fast path, coalesced", true, true}} {
		var share, batch []float64
		for range *rounds {
			s, w := atGigabit(b, program, k.fast, k.coalesced)
			share, batch = append(share, s), append(batch, w)
		}
		s := result.Summarize(share)
		fmt.Printf("%-34s %8.1f (%4.1f to %4.1f) %20.1f\n", k.name, s.Median, s.Min, s.Max, result.Summarize(batch).Median)
	}
	b.ReportMetric(0, "ns/op") // the table is the result
}

// atGigabit returns the per cent of its core that the router's thread used, and
// how many frames it took at a time.
func atGigabit(b *testing.B, program string, fast, coalesced bool) (share, batch float64) {
	b.Helper()
	r := newRig(b, program)
	r.rules(b, firewall+masquerade)
	if fast {
		defer r.up(b)()
	}
	p := r.profile(b, 1518, 1, false)
	r.answer(b, p, fast)
	if coalesced {
		state := b.TempDir()
		r.do(b, r.box, program, "tune", "apply", "--state", state, "link.napi_defer_hard_irqs@"+r.in.Interface+"=2", "link.gro_flush_timeout@"+r.in.Interface+"=1000000")
		defer r.do(b, r.box, program, "tune", "rollback", "--state", state)
	}
	sink := r.drop(b)
	before, wakes, frames := busy(r.thread), switches(r.thread), sink()
	ctx, cancel := context.WithTimeout(b.Context(), *took)
	defer cancel()
	began := time.Now()
	if _, err := r.send(ctx, p, generator.Load{Frames: 1 << 30, Rate: gigabit}); err != nil && ctx.Err() == nil {
		b.Fatal(err)
	}
	spent := time.Since(began)
	time.Sleep(50 * time.Millisecond)
	frames = sink() - frames
	if want := 0.95 * gigabit * spent.Seconds(); float64(frames) < want {
		b.Logf("%d frames came out, want %.0f", frames, want)
	}
	return 100 * (busy(r.thread) - before).Seconds() / spent.Seconds(), float64(frames) / float64(max(switches(r.thread)-wakes, 1))
}

var voluntary = regexp.MustCompile(`(?m)^voluntary_ctxt_switches:\s+(\d+)$`)

// switches returns how often a thread went to sleep.
func switches(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	m := voluntary.FindSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return n
}
