// Package bench compares our FTP server with public ones and with what the
// kernel alone can do: in one run, on one veth link, in turns. "make bench"
// runs it.
package bench

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/testnet"
)

var (
	rounds = flag.Int("rounds", 5, "rounds of every transfer; the medians are shown")
	binary = flag.String("linerate", "", "measure this `program` instead of building ours")
	before = flag.String("before", "", "also measure this `program`, an earlier linerate")
	only   = flag.String("only", "", "measure only rows whose text, such as \"FTPS put to tmpfs vsftpd\" or \"sessions\", matches this `regexp`")
)

// key says which column of which row a figure belongs to.
type key struct {
	server, what string
	secure       bool
	streams      int
}

type figures map[key]sample

// BenchmarkFTP prints the comparison and each bar as reached or missed. It
// measures once, whatever b.N is.
func BenchmarkFTP(b *testing.B) {
	r := newRig(b)
	kernel, ours := r.kernel(), []*server{r.linerate(false), r.linerate(true)}
	ourBin := r.bin
	if *before != "" {
		r.bin = *before
		for _, memory := range []bool{false, true} {
			s := r.linerate(memory)
			s.name = "before" + strings.TrimPrefix(s.name, "linerate")
			ours = append(ours, s)
		}
	}
	var peers []*server
	for _, name := range testnet.FTPServers() {
		peers = append(peers, r.peer(name))
	}
	if s := r.ftpserverlib(); s != nil {
		peers = append(peers, s)
	}
	describe(r)

	pattern, err := regexp.Compile(*only)
	if err != nil {
		b.Fatalf("-only: %v", err)
	}
	f := figures{}
	for _, secure := range []bool{false, true} {
		for _, put := range []bool{false, true} {
			rows := slices.DeleteFunc(loads(kernel, ours, peers, put, secure), func(l *load) bool { return !pattern.MatchString(l.String()) })
			for _, streams := range []int{1, 8} {
				measure(r, f, rows, streams)
			}
			if len(rows) > 0 {
				table(f, rows)
			}
		}
	}
	r.bin = ourBin
	var sessions sessionFigures
	if pattern.MatchString("sessions") {
		sessions = r.sessions(peers)
	}
	if *only != "" {
		return // bars need all
	}
	for _, line := range bars(f, sessions, peers) {
		fmt.Println(line)
	}
	b.ReportMetric(0, "ns/op") // the table is the result
}

func describe(r *rig) {
	var u unix.Utsname
	unix.Uname(&u)
	cc, _ := r.congestion()
	fmt.Printf("\nFTP servers side by side: %d processors, Linux %s, %s, veth with offloads, congestion control %s, files on tmpfs,\n"+
		"1 GiB a transfer in 1 or 8 streams, medians of %d rounds in turns; MB/s (server CPU s/GiB)\n",
		runtime.NumCPU(), unix.ByteSliceToString(u.Release[:]), runtime.GOARCH, cc, *rounds)
	for _, m := range r.missing {
		fmt.Println("skipped:", m)
	}
}

func (r *rig) congestion() (name string, err error) {
	err = r.link.A.Namespace.Do(func() error {
		b, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
		name = lastLine(string(b))
		return err
	})
	return name, err
}

// measure runs rows in turns, so that what else the machine does hits all.
func measure(r *rig, f figures, rows []*load, streams int) {
	samples := map[*load][]sample{}
	for range *rounds {
		for _, l := range rows {
			s, err := r.run(r.tb.Context(), l, streams)
			if err != nil {
				r.tb.Errorf("%v", err)
				continue
			}
			samples[l] = append(samples[l], s)
		}
	}
	for l, all := range samples {
		f[key{l.server.name, l.what, l.secure, streams}] = sample{
			median(all, func(s sample) float64 { return s.rate }), median(all, func(s sample) float64 { return s.cpu }),
		}
	}
}

func median(all []sample, of func(sample) float64) float64 {
	v := make([]float64, len(all))
	for i, s := range all {
		v[i] = of(s)
	}
	slices.Sort(v)
	return v[len(v)/2]
}
