// Package tester measures our generator, sink and reflector of test frames:
// beside a bare redirect loop and trafgen, for the exactness of their pace, and
// on the kernel's own forwarding. "make bench" runs it.
package tester

import (
	"flag"
	"fmt"
	"runtime"
	"testing"

	"github.com/linerate/linerate/result"
)

var rounds = flag.Int("tester-rounds", 5, "rounds of every test, in turns; the medians are shown")

// contender is one way of sending.
type contender struct {
	name string
	// run sends for about a second and returns how many frames a second of the
	// sender's CPU time made.
	run func() (float64, error)
}

// compare runs all in turns and shows the medians.
func compare(b *testing.B, cs []contender) figures {
	all := map[string][]float64{}
	for range *rounds {
		for _, c := range cs {
			v, err := c.run()
			if err != nil {
				b.Fatalf("%s: %v", c.name, err)
			}
			all[c.name] = append(all[c.name], v)
		}
	}
	for _, c := range cs {
		s := result.Summarize(all[c.name])
		fmt.Printf("%-34s %6.2f (%.2f-%.2f) million frames per CPU-second\n", c.name, s.Median/1e6, s.Min/1e6, s.Max/1e6)
	}
	return all
}

// figures are those of every round, by name.
type figures map[string][]float64

// over is the median of the rounds' ratios: what slows the machine for a while
// slows both.
func (f figures) over(a, b string) float64 {
	var ratios []float64
	for i := range f[a] {
		ratios = append(ratios, f[a][i]/f[b][i])
	}
	return result.Summarize(ratios).Median
}

// bar prints whether a figure is what it should be.
func bar(what string, got, want float64, unit string) {
	word := "reached"
	if got < want {
		word = "MISSED "
	}
	fmt.Printf("%s  %s: %.2f, want at least %.2f %s\n", word, what, got, want, unit)
}

// ceiling is bar for what should be small.
func ceiling(what string, got, want float64, unit string) {
	word := "reached"
	if got > want {
		word = "MISSED "
	}
	fmt.Printf("%s  %s: %.3g, want at most %.3g %s\n", word, what, got, want, unit)
}

func heading(s string) {
	fmt.Printf("\n%s, %d processors, veth, medians of %d rounds in turns (min-max)\n", s, runtime.NumCPU(), *rounds)
}

const liveFramesName = "live frames, sequence, 1/64 stamps"

// BenchmarkSenders compares what a second of the sender's CPU time makes of
// 64-byte frames. On veth what the receiver does is in it.
func BenchmarkSenders(b *testing.B) {
	r := newRig(b)
	heading("senders")
	s := compare(b, []contender{
		{"bare redirect loop", r.bare}, {liveFramesName, r.live},
		{"AF_XDP", r.afXDP}, {"AF_PACKET sendmmsg", r.afPacket}, {"trafgen", r.trafgen(b)},
	})
	bar("live frames / bare loop", s.over(liveFramesName, "bare redirect loop"), 0.8, "")
	bar("live frames / trafgen", s.over(liveFramesName, "trafgen"), 5, "")
	bar("AF_XDP / trafgen", s.over("AF_XDP", "trafgen"), 1.3, "")
	bar("AF_PACKET / trafgen", s.over("AF_PACKET sendmmsg", "trafgen"), 1, "")
	b.ReportMetric(0, "ns/op") // the table is the result
}

// BenchmarkReflector has the reflector turn round all that the generator makes:
// sender, reflector and sink share one core's time.
func BenchmarkReflector(b *testing.B) {
	r := newRig(b)
	heading("reflector: generator to reflector to sink")
	s := compare(b, []contender{{"reflected", r.reflected(b)}})
	bar("reflected", result.Summarize(s["reflected"]).Median/1e6, 3, "million frames/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPace asks for rates and looks at what left when.
func BenchmarkPace(b *testing.B) {
	r := newRig(b)
	heading("pace")
	for _, rate := range []float64{10_000, 100_000, 250_000, 500_000, 1_000_000, 1_488_095} {
		var off, late, p99 []float64
		for range *rounds {
			sent, err := r.paced(rate)
			if err != nil {
				b.Fatal(err)
			}
			off = append(off, 1e6*abs(sent.Rate()/rate-1))
			late, p99 = append(late, sent.Late.Quantile(0.5)), append(p99, sent.Late.Quantile(0.99))
		}
		fmt.Printf("%9.0f frame/s: off by %.3f ppm (%.3f-%.3f), late p50 %.0f ns, p99 %.0f ns\n", rate, result.Summarize(off).Median,
			result.Summarize(off).Min, result.Summarize(off).Max, result.Summarize(late).Median, result.Summarize(p99).Median)
		ceiling(fmt.Sprintf("rate of %.0f", rate), result.Summarize(off).Median, 1, "ppm")
		ceiling(fmt.Sprintf("median lateness at %.0f", rate), result.Summarize(late).Median, 100, "ns")
	}
	b.ReportMetric(0, "ns/op")
}

func abs(v float64) float64 { return max(v, -v) }

// BenchmarkForwarding measures the kernel's IPv4 forwarding with threaded NAPI:
// inline, the device runs in the generator's own softirq and can lose nothing.
// What is compared is the forwarding rate at the maximum offered load (RFC 2285
// 3.6.2), which needs no pace, for a second of the device's CPU time; one
// measurement is the median of the rounds.
func BenchmarkForwarding(b *testing.B) {
	heading("kernel forwarding, threaded NAPI")
	forward := newForwarder(b)
	var figures []float64
	for range 3 {
		var rates []float64
		for range *rounds {
			rate, err := forward.measure()
			if err != nil {
				b.Fatal(err)
			}
			rates = append(rates, rate)
		}
		r := result.Summarize(rates)
		fmt.Printf("forwarded %.0f frames a CPU-second (%.0f-%.0f)\n", r.Median, r.Min, r.Max)
		figures = append(figures, r.Median)
	}
	s := result.Summarize(figures)
	ceiling("distance of a measurement from the median of three", 100*max(s.Max-s.Median, s.Median-s.Min)/s.Median, 5, "%")
	b.ReportMetric(0, "ns/op")
}
