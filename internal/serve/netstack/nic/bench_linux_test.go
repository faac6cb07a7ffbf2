package nic

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"
)

var rounds = flag.Int("rounds", 15, "rounds of each mode; the least disturbed is shown")

// poisson is a wire whose frames arrive by the real clock.
type poisson struct {
	simulation
	start  time.Time
	due    []time.Duration
	served atomic.Int64
}

func (p *poisson) Filled() (int, error) {
	now, at := time.Since(p.start), int(p.served.Load())
	n := 0
	for at+n < len(p.due) && p.due[at+n] <= now && n < p.ring {
		n++
	}
	return n, nil
}
func (p *poisson) Release(n int) {
	if p.served.Add(int64(n)) == int64(len(p.due)) {
		p.finished()
	}
}
func (p *poisson) Wait(time.Duration) error {
	for at := int(p.served.Load()); at < len(p.due) && time.Since(p.start) < p.due[at]; {
	}
	return nil
}

// BenchmarkPacing compares the modes in real time with the closed forms on
// Poisson arrivals: it prints both, and the timer's lateness, once, whatever b.N
// is. What else runs on the machine makes batches longer: of some rounds the one
// whose longest wait is the shortest counts.
func BenchmarkPacing(b *testing.B) {
	const rate, threshold, timer = 25_000.0, 32, 4 * Tick
	held := rate * timer.Seconds()
	fires := math.Exp(-held)
	fmt.Printf("\n%.0f frames/s, %s, list of %d: frames per interrupt, least disturbed of %d rounds\n", rate, timer, threshold, *rounds)
	for _, m := range []struct {
		mode  Mode
		batch float64
	}{{Threshold, threshold}, {SinceInterrupt, held + fires}, {SinceFirst, 1 + held}, {SinceLast, (1 - math.Pow(1-fires, threshold)) / fires}} {
		for _, kind := range []TimerKind{Spin, Sleep} {
			var best *NIC
			for round := range *rounds {
				c := paced(b, Pacing{Mode: m.mode, Timer: timer, Threshold: threshold}, kind, rate, uint64(round))
				if best == nil || c.count.worst.Load() < best.count.worst.Load() {
					best = c
				}
			}
			c := &best.count
			got := float64(c.frames.Load()) / float64(c.interrupts.Load())
			word, late := "reached", best.timer.Lateness()
			if math.Abs(got/m.batch-1) > 0.05 {
				word = "MISSED "
			}
			fmt.Printf("%-16s %-6s %6.3f, closed form %6.3f: %s %+6.1f %%; longest wait %s; timer late by %.1f us, p99 %.1f us\n", m.mode, kind, got, m.batch, word,
				100*(got/m.batch-1), time.Duration(c.worst.Load()).Round(time.Microsecond), late.Mean*1e6, late.P99*1e6)
		}
	}
	b.ReportMetric(0, "ns/op") // the table is the result
}

// paced lets a card receive for a fifth of a second.
func paced(b *testing.B, p Pacing, kind TimerKind, rate float64, seed uint64) *NIC {
	const n = 5000
	ctx, cancel := context.WithCancel(b.Context())
	random := rand.New(rand.NewPCG(1, seed))
	w := &poisson{simulation: simulation{ring: 256, finished: cancel}}
	at := time.Duration(0)
	for range n {
		at += time.Duration(random.ExpFloat64() / rate * 1e9)
		w.due = append(w.due, at)
	}
	if p.Mode == Threshold {
		p.Watchdog = 50 * time.Millisecond
	}
	clock := NewTimer(kind)
	if kind == Spin {
		clock = peeking{clock, w}
	}
	card, err := New(w, Config{Pacing: p, Timer: clock})
	if err != nil {
		b.Fatal(err)
	}
	w.start = time.Now()
	if err := card.Run(ctx, frames{}); err != nil {
		b.Fatal(err)
	}
	return card
}

// peeking is a spinning clock that returns at an arrival, as the firmware sees
// each frame when it comes.
type peeking struct {
	Timer
	wire *poisson
}

func (p peeking) Sleep(d time.Duration) {
	now := time.Since(p.wire.start)
	before, _ := p.wire.Filled()
	for end := now + d; time.Since(p.wire.start) < end; {
		if n, _ := p.wire.Filled(); n != before {
			return
		}
	}
}
