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

// BenchmarkSeal offers what the bar wants, and a little more: what comes out
// tells whether a core does it, its CPU time what the core could do.
func BenchmarkSeal(b *testing.B) {
	program := build(b, *binary)
	fmt.Printf("\n%-16s %9s %10s %12s %10s %14s   %s, one core, past the stack\n", "frames with FCS", "offered", "came out", "inside", "CPU time", "a core's", *suite)
	for _, k := range []struct {
		size int
		bar  float64 // packets a second
	}{{64, 0.7e6}, {512, 0}, {1418, 5e9 / 8 / (1418 - fcs)}} {
		var rate, cost []float64
		offer := 1.02 * k.bar
		if k.bar == 0 {
			offer = 0.5e6
		}
		for range *rounds {
			n, c := seal(b, program, k.size, offer)
			rate, cost = append(rate, n), append(cost, c)
		}
		r, c := result.Summarize(rate), result.Summarize(cost)
		gbps := func(n float64) float64 { return n * float64(k.size-fcs) * 8 / 1e9 }
		verdict := ""
		if k.bar > 0 {
			verdict = fmt.Sprintf("bar %.2f Mpps %s", k.bar/1e6, map[bool]string{true: "reached", false: "MISSED"}[r.Median >= k.bar])
		}
		fmt.Printf("%-16d %4.2f Mpps %5.3f Mpps %5.2f Gbit/s %7.0f ns %9.2f Mpps   min-max %.3f-%.3f Mpps, %.0f-%.0f ns   %s\n", k.size, offer/1e6, r.Median/1e6, gbps(r.Median),
			c.Median, 1000/c.Median, r.Min/1e6, r.Max/1e6, c.Min, c.Max, verdict)
	}
	b.ReportMetric(0, "ns/op") // the table is the result
}

// fcs is what a frame has behind what a host sees of it.
const fcs = 4

// BenchmarkStrongSwan seals the same frames with strongSwan's kernel-libipsec.
func BenchmarkStrongSwan(b *testing.B) {
	program := build(b, *binary)
	const size = 1418
	var ours, theirs []float64
	for range *rounds {
		n, _ := seal(b, program, size, 0.5e6)
		ours = append(ours, n)
		n, _ = seal(b, "", size, 50e3)
		theirs = append(theirs, n)
	}
	o, t := result.Summarize(ours), result.Summarize(theirs)
	gbps := func(n float64) float64 { return n * (size - fcs) * 8 / 1e9 }
	ratio := o.Median / t.Median
	fmt.Printf("\n%d bytes, one core: ours %.2f Gbit/s, strongSwan kernel-libipsec %.3f Gbit/s: ratio %.1f, bar 20 %s   min-max %.2f-%.2f, %.3f-%.3f\n", size,
		gbps(o.Median), gbps(t.Median), ratio, map[bool]string{true: "reached", false: "MISSED"}[ratio >= 20], gbps(o.Min), gbps(o.Max), gbps(t.Min), gbps(t.Max))
	b.ReportMetric(0, "ns/op")
}

// seal offers packets at a rate and returns those that come out a second, and the CPU time of each in
// ns. Without a program it is strongSwan that seals.
func seal(b *testing.B, program string, size int, offer float64) (rate, cost float64) {
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
		sent := r.send(ctx, b, size, offer)
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
