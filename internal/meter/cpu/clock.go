package cpu

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

// Clock reads how fast each core is clocked: a core that a governor or heat
// holds back is slow without being busy. Virtual machines mostly do not tell.
type Clock struct{ Host host.Host }

// Name returns "cpu.clock".
func (Clock) Name() string { return "cpu.clock" }

// Read returns result.CPUClock and result.CPUClockMax by cpu.
func (c Clock) Read(context.Context) ([]result.Value, error) {
	const before, after = "sys/devices/system/cpu/cpu", "/cpufreq/"
	var vs []result.Value
	for _, f := range []struct {
		file   string
		metric result.Metric
	}{{"scaling_cur_freq", result.CPUClock}, {"cpuinfo_max_freq", result.CPUClockMax}} {
		names, err := fs.Glob(c.Host, before+"*"+after+f.file)
		if err != nil {
			return nil, fmt.Errorf("cpu.clock: %w", err)
		}
		for _, name := range names {
			b, err := fs.ReadFile(c.Host, name)
			if err != nil {
				return nil, fmt.Errorf("cpu.clock: %w", err)
			}
			kilohertz, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32)
			if err != nil {
				return nil, fmt.Errorf("cpu.clock: %s: %w", name, err)
			}
			core := strings.TrimSuffix(strings.TrimPrefix(name, before), after+f.file)
			vs = append(vs, f.metric.Of(1000*float64(kilohertz), "cpu", core))
		}
	}
	if len(vs) == 0 {
		return nil, fmt.Errorf("cpu.clock: the kernel shows no clocks (no cpufreq driver): %w", host.ErrUnsupported)
	}
	return vs, nil
}
