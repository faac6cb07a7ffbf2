// Package inspect measures what inspection costs: CPU for a frame in the
// programs and the reader, and goodput of TCP on a veth link with 1,500-byte
// messages. "make bench" runs it.
package inspect

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/inspect"
	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/result"
)

var (
	rounds = flag.Int("rounds", 7, "rounds of every measurement; the medians are judged")
	sweep  = flag.String("sweep", "1500", "message sizes")
	binary = flag.String("linerate", "", "measure this `program` instead of building ours")
)

// The bars.
const (
	leastGoodput = 0.85 // of that without inspection, split at 1,500 bytes
	mostCPU      = 0.6  // of full's CPU for a frame
)

// judge prints a bar as reached or missed.
func judge(what string, v float64, reached bool) {
	fmt.Printf("  %-60s %6.3f  %s\n", what, v, map[bool]string{true: "reached", false: "MISSED"}[reached])
}

// BenchmarkCPU runs frames of 1,514 bytes through the driver's program while a
// reader takes the records, and compares the process's whole CPU time.
func BenchmarkCPU(b *testing.B) {
	l := testnet.NewPair(b, testnet.LinkOptions{Bare: true})
	cost := map[inspect.Mode][]float64{}
	for range *rounds {
		for _, m := range []inspect.Mode{inspect.Count, inspect.Split, inspect.Full} {
			cost[m] = append(cost[m], cpu(b, l.B, m))
		}
	}
	fmt.Printf("\nCPU for a frame of 1,514 bytes, program and reader, medians of %d\n", *rounds)
	for _, m := range []inspect.Mode{inspect.Count, inspect.Split, inspect.Full} {
		s := result.Summarize(cost[m])
		fmt.Printf("  %-6s %5.0f ns (%.0f-%.0f)\n", m, s.Median, s.Lo, s.Hi)
	}
	ratio := result.Summarize(cost[inspect.Split]).Median / result.Summarize(cost[inspect.Full]).Median
	judge(fmt.Sprintf("split's CPU by full's, at most %.2f", mostCPU), ratio, ratio <= mostCPU)
	b.ReportMetric(ratio, "split/full")
	b.ReportMetric(0, "ns/op") // the table is the result
}

// cpu returns the process's CPU time in ns for a frame in mode m.
func cpu(b *testing.B, e testnet.End, m inspect.Mode) float64 {
	b.Helper()
	var i *inspect.Inspector
	o := inspect.Options{Mode: m, Ring: 64 << 20}
	if err := e.Namespace.Do(func() (err error) { i, err = inspect.Attach(e.Interface, o); return err }); err != nil {
		b.Fatal(err)
	}
	defer i.Close()
	frame := append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 5, 0xdc, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x9c, 0x40, 0, 53, 5, 0xc8, 0, 0}, make([]byte, 1472)...)
	const bursts, burst = 60, 20_000
	before := used()
	s := inspect.NewSession(i, e.Interface, o, 4*time.Second, nil)
	done := make(chan error, 1)
	go func() { done <- s.Run(b.Context()) }()
	for range bursts {
		if _, err := i.Try(frame, burst); err != nil {
			b.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	n, err := i.Counts()
	if err != nil || n.Taken < bursts*burst || n.Lost > 0 {
		b.Fatalf("%+v, %v", n, err)
	}
	return float64((used() - before).Nanoseconds()) / (bursts * burst)
}

// used is the process's CPU time.
func used() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkGoodput runs "inspect compare" between two namespaces, with segment
// offloads off, so that every frame is inspected, and with Reno, which doesn't
// pace.
func BenchmarkGoodput(b *testing.B) {
	bin := *binary
	if bin == "" {
		bin = filepath.Join(b.TempDir(), "linerate")
		if out, err := exec.Command("go", "build", "-o", bin, "github.com/linerate/linerate/cmd/linerate").CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	l := testnet.NewPair(b, testnet.LinkOptions{Offload: testnet.OffloadSegments})
	for _, e := range []testnet.End{l.A, l.B} {
		if err := e.Namespace.SetSysctl("net.ipv4.tcp_congestion_control", "reno"); err != nil {
			b.Fatal(err)
		}
	}
	peer := l.B.IPv4.Addr().String()
	server, err := l.B.Namespace.Start(b.Context(), bin, "serve", "stream", "--bind", peer)
	if err != nil {
		b.Fatal(err)
	}
	defer server.Stop()
	if _, err := server.Await(b.Context(), "listening"); err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "compare.json")
	out, err := l.A.Namespace.Run(b.Context(), bin, "inspect", "compare", peer, "-i", l.A.Interface, "--sweep", *sweep, "--repeats", strconv.Itoa(*rounds), "--time", "1s", "--out", file)
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	fmt.Printf("\nTCP with inspection, veth, segment offloads off, Reno, medians of %d rounds in turns\n%s", *rounds, out)
	r := read(b, file)
	for _, way := range []string{"tx", "rx"} {
		for _, v := range r.Totals {
			if v.Metric == result.InspectShare.Name && v.Labels["direction"] == way && v.Labels["inspection"] == "split" {
				judge(fmt.Sprintf("goodput that split keeps, %s, %s B, at least %.2f", way, v.Labels["message_bytes"], leastGoodput), v.V, v.V >= leastGoodput)
			}
		}
	}
	b.ReportMetric(0, "ns/op") // the table is the result
}

func read(b *testing.B, file string) *result.Result {
	b.Helper()
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	r, err := result.Decode(f)
	if err != nil {
		b.Fatal(err)
	}
	return r
}
