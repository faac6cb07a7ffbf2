// Package cpu reads how long each core, or one process, spent in which mode.
//
// Kernels without CONFIG_IRQ_TIME_ACCOUNTING sample at each tick and charge
// the whole tick to what they interrupt, so that irq and softirq read too low
// under load.
package cpu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

// userHZ is the unit of CPU times that the kernel shows: USER_HZ is 100 on
// every architecture that Go has a Linux port for (time(7)).
const userHZ = 100

// Meter reads each core of a host.
type Meter struct{ Host host.Host }

// Name returns "cpu".
func (Meter) Name() string { return "cpu" }

// Read returns result.CPUSeconds by cpu and mode.
func (m Meter) Read(context.Context) ([]result.Value, error) {
	b, err := fs.ReadFile(m.Host, "proc/stat")
	if err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	return parseStat(string(b))
}

// modes are the columns of /proc/stat. The guest columns that follow them are
// contained in user and nice already.
func modes() []string {
	return []string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"}
}

// parseStat reads the "cpuN" lines of /proc/stat (proc(5)).
func parseStat(s string) ([]result.Value, error) {
	var vs []result.Value
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		core, ok := strings.CutPrefix(f[0], "cpu")
		if _, err := strconv.ParseUint(core, 10, 32); !ok || err != nil {
			continue // the sum of all cores, or another kind of line
		}
		if len(f) < 5 {
			return nil, fmt.Errorf("cpu: proc/stat: %s has %d columns, want at least 4", f[0], len(f)-1)
		}
		for i, mode := range modes() {
			if i+1 >= len(f) {
				break
			}
			n, err := strconv.ParseUint(f[i+1], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("cpu: proc/stat: %s %s: %w", f[0], mode, err)
			}
			vs = append(vs, result.CPUSeconds.Of(float64(n)/userHZ, "cpu", core, "mode", mode))
		}
	}
	if len(vs) == 0 {
		return nil, errors.New("cpu: proc/stat: no cpu lines")
	}
	return vs, nil
}
