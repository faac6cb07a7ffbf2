// Package ipsec measures what a core of an IPsec gateway does: sealing past the
// stack, and TCP through TUN devices at both ends beside strongSwan's
// kernel-libipsec. "make bench" runs it.
package ipsec

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/result"
)

var (
	rounds = flag.Int("rounds", 5, "rounds of every measurement; the medians are judged")
	binary = flag.String("linerate", "", "measure this `program` instead of building ours")
	took   = flag.Duration("time", 1500*time.Millisecond, "length of a measurement")
	suite  = flag.String("suite", "aes128gcm16", "protect with this suite")
	length = flag.Int("key", 20, "bytes of the suite's key")
)

// BenchmarkSeal offers more frames than the gateway's core can seal.
func BenchmarkSeal(b *testing.B) {
	program := build(b, *binary)
	fmt.Printf("\n%-24s %10s %14s %12s %8s   %s, one core, past the stack\n", "frames with FCS", "Mpps", "inside Gbit/s", "ns/packet", "bar", *suite)
	for _, size := range []int{64, 512, 1418} {
		var rate, cost []float64
		for range *rounds {
			n, c := seal(b, program, size)
			rate, cost = append(rate, n), append(cost, c)
		}
		r, c := result.Summarize(rate), result.Summarize(cost)
		gbps := func(n float64) float64 { return n * float64(size-4) * 8 / 1e9 }
		reached, bar := true, "-"
		switch size {
		case 64:
			reached, bar = r.Median >= 0.7e6, "0.7 Mpps"
		case 1418:
			reached, bar = gbps(r.Median) >= 5, "5 Gbit/s"
		}
		fmt.Printf("%-24d %10.3f %14.2f %12.0f %8s %s   min-max %.3f-%.3f Mpps\n", size, r.Median/1e6, gbps(r.Median), c.Median, bar,
			map[bool]string{true: "reached", false: "MISSED"}[reached], r.Min/1e6, r.Max/1e6)
	}
	b.ReportMetric(0, "ns/op") // the table is the result
}

// BenchmarkStrongSwan seals the same frames with strongSwan's kernel-libipsec.
func BenchmarkStrongSwan(b *testing.B) {
	program := build(b, *binary)
	const size = 1418
	var ours, theirs []float64
	for range *rounds {
		n, _ := seal(b, program, size)
		ours = append(ours, n)
		n, _ = seal(b, "", size)
		theirs = append(theirs, n)
	}
	o, t := result.Summarize(ours), result.Summarize(theirs)
	gbps := func(n float64) float64 { return n * (size - 4) * 8 / 1e9 }
	ratio := o.Median / t.Median
	fmt.Printf("\n%d bytes, one core: ours %.2f Gbit/s, strongSwan kernel-libipsec %.3f Gbit/s: ratio %.1f, bar 20 %s   min-max %.2f-%.2f, %.3f-%.3f\n", size,
		gbps(o.Median), gbps(t.Median), ratio, map[bool]string{true: "reached", false: "MISSED"}[ratio >= 20], gbps(o.Min), gbps(o.Max), gbps(t.Min), gbps(t.Max))
	b.ReportMetric(0, "ns/op")
}

// seal returns the packets that come out a second, and the CPU time of each in
// ns. Without a program it is strongSwan that seals.
func seal(b *testing.B, program string, size int) (rate, cost float64) {
	b.Helper()
	r := newRig(b, program)
	var p *testnet.Process
	if program == "" {
		p = r.charon(b)
	} else {
		p = r.up(b, *suite, *length)
	}
	defer p.Stop()
	sink := r.drop(b)
	ctx, cancel := context.WithTimeout(b.Context(), *took+500*time.Millisecond)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		sent := r.send(ctx, b, size, 0)
		if testing.Verbose() && program != "" {
			fmt.Printf("  offered %d, process %v, receive thread %v\n%s", sent.Frames, busy(p.PID()), busy(r.napi), do(b, r.in.Namespace, r.program, "forward", "ipsec", "show"))
		}
	}()
	time.Sleep(400 * time.Millisecond)
	before, _ := sink()
	spent, at := busy(p.PID())+busy(r.napi), time.Now()
	time.Sleep(*took)
	frames, _ := sink()
	frames -= before
	spent, elapsed := busy(p.PID())+busy(r.napi)-spent, time.Since(at)
	<-done
	if frames == 0 {
		b.Fatal("nothing came out")
	}
	return float64(frames) / elapsed.Seconds(), float64(spent.Nanoseconds()) / float64(frames)
}
