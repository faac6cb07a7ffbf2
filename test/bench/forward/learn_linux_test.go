package forward

import (
	"fmt"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/workload/generator"
)

// BenchmarkLearn offers new connections at a rate, each of one packet and its
// answer, and tells how many are on the fast path half a second later.
func BenchmarkLearn(b *testing.B) {
	program := build(b, *built)
	for _, rate := range []float64{20_000, 40_000} {
		r := newRig(b, program)
		r.rules(b, firewall+masquerade)
		down := r.up(b)
		p := r.profile(b, 64, 1<<16, false)
		end := r.reflect(b)
		began := time.Now()
		sent, err := r.send(b.Context(), p, generator.Load{Frames: uint64(p.Flows), Rate: rate})
		if err != nil {
			b.Fatal(err)
		}
		took := time.Since(began)
		time.Sleep(500 * time.Millisecond)
		const twice = 1024 // of RFC 4814's ports
		fmt.Printf("%d new connections in %.2f s: %d learnt half a second later\n", sent.Frames-twice, took.Seconds(), r.held(b))
		end()
		down()
	}
	b.ReportMetric(0, "ns/op")
}
