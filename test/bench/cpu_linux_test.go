package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// family returns pid and the processes below it: servers fork.
func family(pid int) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	parents := map[int]int{}
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		parents[child], _ = strconv.Atoi(f[1])
	}
	var all []int
	for child := range parents {
		for up := child; up > 1; up = parents[up] {
			if up == pid {
				all = append(all, child)
				break
			}
		}
	}
	return all
}

// cpuTime returns the time on a processor of all threads of pid and the
// processes below it, by thread: in nanoseconds, where ticks would be too
// coarse.
func cpuTime(pid int) map[string]time.Duration {
	times := map[string]time.Duration{}
	for _, p := range family(pid) {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p))
		for _, name := range threads {
			b, err := os.ReadFile(name)
			if err != nil {
				continue
			}
			ns, _ := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64)
			times[name] = time.Duration(ns)
		}
	}
	return times
}

// spent returns the time on a processor between two readings.
func spent(before, after map[string]time.Duration) (sum time.Duration) {
	for thread, t := range after {
		sum += t - before[thread]
	}
	return sum
}

// ownMemory returns the bytes of pid and the processes below it, shared pages
// counted in proportion.
func ownMemory(pid int) (sum int64) {
	for _, p := range family(pid) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			if v, ok := strings.CutPrefix(line, "Pss:"); ok {
				kib, _ := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
				sum += kib << 10
			}
		}
	}
	return sum
}
