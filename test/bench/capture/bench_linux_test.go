// Package capture measures how fast 'linerate analyze' reaches its verdict on a
// header-only capture, beside tcptrace, tshark's analysis fields and tcpdump,
// which only reads. "make bench" runs it.
package capture

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/linerate/linerate/result"
)

var (
	rounds  = flag.Int("rounds", 5, "rounds of every measurement; the medians are judged")
	packets = flag.Int("packets", 3_000_000, "packets of the capture; tshark gets a twentieth of them")
	program = flag.String("linerate", "", "measure this `PROGRAM` instead of building ours")
)

// The bars.
const (
	leastRate     = 10e6 // packets for a second of CPU time
	leastTcptrace = 2.5  // times tcptrace
	leastTshark   = 50   // times tshark
	mostResident  = 64 << 20
)

// tool is a program that reads a capture.
type tool struct {
	name string
	args []string // FILE stands for the capture
	part bool     // reads the short capture
}

// sample is a run's packets for a second of CPU time, of user and system, and
// its resident memory in bytes.
type sample struct{ rate, resident float64 }

// run measures one run. CPU time, not elapsed, is what other work on the machine
// disturbs least; GOMAXPROCS=1 keeps ours on one core.
func (t tool) run(b *testing.B, file string, n int) sample {
	b.Helper()
	args := make([]string, len(t.args))
	for i, a := range t.args {
		if args[i] = a; a == "FILE" {
			args[i] = file
		}
	}
	cmd := exec.CommandContext(b.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	if out, err := cmd.Output(); err != nil {
		b.Fatalf("%s: %v\n%s", t.name, err, out)
	}
	use := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return sample{float64(n) / cpu.Seconds(), float64(use.Maxrss) * 1024}
}

// BenchmarkVerdict takes every tool over the capture in turn.
func BenchmarkVerdict(b *testing.B) {
	dir := b.TempDir()
	ours := *program
	if ours == "" {
		ours = filepath.Join(dir, "linerate")
		if out, err := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-o", ours, "github.com/linerate/linerate/cmd/linerate").CombinedOutput(); err != nil {
			b.Fatalf("build: %v\n%s", err, out)
		}
	}
	whole, part := filepath.Join(dir, "whole.pcap"), filepath.Join(dir, "part.pcap")
	write(b, whole, *packets)
	write(b, part, *packets/20)
	tools := []tool{
		{"linerate", []string{ours, "analyze", "FILE", "--json"}, false},
		{"tcptrace", []string{"tcptrace", "-n", "-l", "-r", "-W", "FILE"}, false},
		{"tshark", []string{"tshark", "-n", "-r", "FILE", "-T", "fields", "-e", "tcp.analysis.ack_rtt", "-e", "tcp.analysis.bytes_in_flight",
			"-e", "tcp.analysis.retransmission", "-e", "tcp.window_size"}, true},
		{"tcpdump", []string{"tcpdump", "-r", "FILE", "-w", "/dev/null"}, false},
	}
	rates, resident := map[string][]float64{}, map[string][]float64{}
	for range *rounds {
		for _, t := range tools {
			file, n := whole, *packets
			if t.part {
				file, n = part, *packets/20
			}
			s := t.run(b, file, n)
			rates[t.name] = append(rates[t.name], s.rate)
			resident[t.name] = append(resident[t.name], s.resident)
		}
	}
	fmt.Printf("\nPackets for a second of CPU time, header-only capture of %d, medians of %d\n", *packets, *rounds)
	median := map[string]float64{}
	for _, t := range tools {
		s := result.Summarize(rates[t.name])
		median[t.name] = s.Median
		fmt.Printf("  %-9s %7.3f million (%.3f-%.3f), resident %4.0f MiB\n", t.name, s.Median/1e6, s.Lo/1e6, s.Hi/1e6, result.Summarize(resident[t.name]).Median/(1<<20))
	}
	fast := median["linerate"]
	judge("linerate, million packets/s, at least 10", fast/1e6, fast >= leastRate)
	judge("linerate by tcptrace, at least 2.5", fast/median["tcptrace"], fast >= leastTcptrace*median["tcptrace"])
	judge("linerate by tshark's analysis fields, at least 50", fast/median["tshark"], fast >= leastTshark*median["tshark"])
	most := result.Summarize(resident["linerate"]).Median
	judge("linerate resident, MiB, at most 64", most/(1<<20), most <= mostResident)
	b.ReportMetric(fast/1e6, "Mpackets/s")
	b.ReportMetric(fast/median["tcptrace"], "x-tcptrace")
	b.ReportMetric(fast/median["tshark"], "x-tshark")
	b.ReportMetric(0, "ns/op") // the table is the result
}

// judge prints a bar as reached or missed.
func judge(what string, v float64, reached bool) {
	fmt.Printf("  %-60s %8.3f  %s\n", what, v, map[bool]string{true: "reached", false: "MISSED"}[reached])
}
