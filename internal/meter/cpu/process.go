package cpu

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

// Process reads the CPU time of one process, its threads and those of its
// children that it waited for.
type Process struct {
	Host  host.Host
	PID   int    // 0 means this process
	Label string // value of the "process" label; empty means its command name
}

// Name returns "process".
func (Process) Name() string { return "process" }

// Read returns result.ProcessCPU by process and mode (user, system).
func (p Process) Read(context.Context) ([]result.Value, error) {
	pid := "self"
	if p.PID > 0 {
		pid = strconv.Itoa(p.PID)
	}
	b, err := fs.ReadFile(p.Host, path.Join("proc", pid, "stat"))
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	name, user, system, err := parseProcess(string(b))
	if err != nil {
		return nil, fmt.Errorf("process: proc/%s/stat: %w", pid, err)
	}
	if p.Label != "" {
		name = p.Label
	}
	return []result.Value{
		result.ProcessCPU.Of(user, "process", name, "mode", "user"),
		result.ProcessCPU.Of(system, "process", name, "mode", "system"),
	}, nil
}

// parseProcess reads /proc/pid/stat (proc(5)): utime, stime, cutime and cstime
// are its columns 14 to 17. The command name may hold spaces and parentheses,
// so columns count from the last parenthesis.
func parseProcess(s string) (name string, user, system float64, err error) {
	open, end := strings.IndexByte(s, '('), strings.LastIndexByte(s, ')')
	if open < 0 || end < open {
		return "", 0, 0, fmt.Errorf("no command name in %q", clip(s))
	}
	f := strings.Fields(s[end+1:])
	const utime = 14 - 3 // f[0] is column 3
	if len(f) < utime+4 {
		return "", 0, 0, fmt.Errorf("%d columns after the command name, want at least %d", len(f), utime+4)
	}
	var ticks [4]float64
	for i := range ticks {
		n, err := strconv.ParseUint(f[utime+i], 10, 64)
		if err != nil {
			return "", 0, 0, fmt.Errorf("column %d: %w", 14+i, err)
		}
		ticks[i] = float64(n)
	}
	return s[open+1 : end], (ticks[0] + ticks[2]) / userHZ, (ticks[1] + ticks[3]) / userHZ, nil
}

func clip(s string) string { return s[:min(len(s), 40)] }
