package inspect

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkFrame is what a frame costs in the kernel program and in the reader,
// without the stack around them.
func BenchmarkFrame(b *testing.B) {
	for _, o := range []Options{{Mode: Count}, {}, {Filter: "tcp port 80 or udp port 53"}, {Protocol: true}, {Mode: Full}} {
		for _, payload := range []int{18, 1472} {
			name := string(o.defaulted().Mode)
			if o.Filter != "" {
				name += ", filter"
			}
			if o.Protocol {
				name += ", protocol"
			}
			b.Run(fmt.Sprintf("%s, %d B", name, 42+payload), func(b *testing.B) {
				i := loaded(b, o)
				table := NewTable(1000)
				frame := udpFrame(1000, payload)
				var kernel, reader time.Duration
				frames := 0
				const burst = 4000
				for b.Loop() {
					each, err := i.Try(frame, burst)
					if err != nil {
						b.Fatal(err)
					}
					kernel += burst * each
					if i.ring != nil {
						began := time.Now()
						var r Record
						i.ring.drain(func(b []byte) { i.decode(b, &r); table.Add(&r) })
						reader += time.Since(began)
					}
					frames += burst
				}
				n, err := i.Counts()
				if err != nil || n.Lost > 0 {
					b.Fatalf("%+v, %v", n, err)
				}
				b.ReportMetric(float64(kernel.Nanoseconds())/float64(frames), "kernel-ns/frame")
				b.ReportMetric(float64(reader.Nanoseconds())/float64(frames), "reader-ns/frame")
			})
		}
	}
}
