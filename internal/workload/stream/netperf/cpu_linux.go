package netperf

import (
	"os"
	"strconv"
	"strings"

	wire "github.com/linerate/linerate/internal/wire/netperf"
)

// cpuTimes is the "cpu" line of /proc/stat (proc(5)): user, nice, system, idle,
// iowait, irq, softirq, steal, in ticks of all cores together.
type cpuTimes [8]float64

func readCPU() (t cpuTimes) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return t
	}
	line, _, _ := strings.Cut(string(b), "\n")
	for i, f := range strings.Fields(line) {
		if i > 0 && i <= len(t) {
			t[i-1], _ = strconv.ParseFloat(f, 64) // the kernel writes numbers
		}
	}
	return t
}

// since fills the shares of all cores since an earlier reading, in percent.
func (t cpuTimes) since(e cpuTimes, r *wire.Results) {
	var total float64
	for i := range t {
		t[i] -= e[i]
		total += t[i]
	}
	r.CPU = -1
	if total <= 0 {
		return
	}
	share := func(ticks float64) float64 { return 100 * ticks / total }
	r.User, r.System, r.Wait, r.IRQ, r.SoftIRQ = share(t[0]+t[1]), share(t[2]), share(t[4]), share(t[5]), share(t[6])
	r.CPU = 100 - share(t[3]+t[4])
}
