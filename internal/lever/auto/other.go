package auto

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/lever"
)

// otherProgram returns the number of the process that uses most of the CPU
// beside this one and its like, over a moment.
func (b Local) otherProgram(ctx context.Context) (int, error) {
	const moment = 200 * time.Millisecond
	before := b.userTicks() // of programs that last longer than the moment
	select {
	case <-time.After(moment):
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	best, most := 0, uint64(0)
	for pid, n := range b.userTicks() {
		if was, there := before[pid]; there && n > was && n-was > most {
			best, most = pid, n-was
		}
	}
	if best == 0 {
		return 0, fmt.Errorf("no other program uses the CPU now: %w", lever.ErrNoLever)
	}
	return best, nil
}

// userTicks reads the user time of every process but those of this program, in
// clock ticks (proc(5) /proc/pid/stat, column 14).
func (b Local) userTicks() map[int]uint64 {
	out := map[int]uint64{}
	ours := b.command(os.Getpid())
	names, _ := fs.Glob(b.Host, "proc/[0-9]*/stat") // the pattern is well formed
	for _, name := range names {
		pid, err := strconv.Atoi(strings.Split(name, "/")[1])
		text, gone := fs.ReadFile(b.Host, name)
		if err != nil || gone != nil {
			continue
		}
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		const utime = 14 - 3 // f[0] is column 3
		if len(f) <= utime || b.command(pid) == ours {
			continue
		}
		if n, err := strconv.ParseUint(f[utime], 10, 64); err == nil {
			out[pid] = n
		}
	}
	return out
}

func (b Local) command(pid int) string {
	text, _ := fs.ReadFile(b.Host, fmt.Sprintf("proc/%d/comm", pid)) // a process may end meanwhile
	return string(text)
}
