// Package softnet reads what the receive softirq of each core handled, dropped
// and left undone. The kernel keeps these per core, not per namespace.
package softnet

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

// Meter reads proc/net/softnet_stat of a host.
type Meter struct{ Host host.Host }

// Name returns "softnet".
func (Meter) Name() string { return "softnet" }

// Read returns the softnet metrics by cpu.
func (m Meter) Read(context.Context) ([]result.Value, error) {
	b, err := fs.ReadFile(m.Host, "proc/net/softnet_stat")
	if err != nil {
		return nil, fmt.Errorf("softnet: %w", err)
	}
	return parse(string(b))
}

// columns of softnet_stat by index; the ones between are no longer used.
func columns() map[int]result.Metric {
	return map[int]result.Metric{
		0: result.SoftnetFrames, 1: result.SoftnetDropped, 2: result.SoftnetSqueezed,
		9: result.SoftnetRPS, 10: result.SoftnetLimited, 11: result.SoftnetBacklog,
	}
}

const cpuColumn = 12 // since Linux 5.10; before, lines stand for the cores online in order

// parse reads one line of hexadecimal columns for each core. Kernels before
// 2.6.35 have nine columns.
func parse(s string) ([]result.Value, error) {
	var vs []result.Value
	i := 0
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		if len(f) < 3 {
			return nil, fmt.Errorf("softnet: line %d has %d columns, want at least 3", i+1, len(f))
		}
		nums := make([]uint64, len(f))
		for c := range f {
			n, err := strconv.ParseUint(f[c], 16, 64)
			if err != nil {
				return nil, fmt.Errorf("softnet: line %d column %d: %w", i+1, c+1, err)
			}
			nums[c] = n
		}
		cpu := uint64(i)
		if len(nums) > cpuColumn {
			cpu = nums[cpuColumn]
		}
		for c := range min(len(nums), cpuColumn) {
			if m, ok := columns()[c]; ok {
				vs = append(vs, m.Of(float64(nums[c]), "cpu", strconv.FormatUint(cpu, 10)))
			}
		}
		i++
	}
	if i == 0 {
		return nil, fmt.Errorf("softnet: proc/net/softnet_stat is empty")
	}
	return vs, nil
}
