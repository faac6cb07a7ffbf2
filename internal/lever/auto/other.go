package auto

import (
	"context"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/lever"
)

// otherProgram returns the number of the process that uses most of the CPU
// beside this one and its like, over a moment. Those bound to some of the cores
// come first: from the others the scheduler gets out of the way by itself.
func (b Local) otherProgram(ctx context.Context) (int, error) {
	const (
		moment = 200 * time.Millisecond
		share  = 0.2 // of a core, from which a link feels it (practice)
	)
	before := b.userTicks() // of programs that last longer than the moment
	select {
	case <-time.After(moment):
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	best, most, bound := 0, uint64(0), false
	for pid, n := range b.userTicks() {
		was, there := before[pid]
		if !there || n < was+uint64(share*moment.Seconds()*hertz) {
			continue
		}
		if stays := b.bound(pid); stays && !bound || stays == bound && n-was > most {
			best, most, bound = pid, n-was, stays
		}
	}
	if best == 0 {
		return 0, fmt.Errorf("no program that has run for %v uses the CPU now: %w", settled, lever.ErrNoLever)
	}
	return best, nil
}

// settled is the age from which a program may be what slowed the link when it
// was measured as found. Younger ones, such as a compiler's, are gone before a
// setting of theirs could be measured.
const settled = time.Second

// hertz is the rate of the clock ticks in /proc (USER_HZ, on all of Go's ports).
const hertz = 100

// userTicks reads the user time of every process but those of this program and
// the young, in clock ticks (proc(5) /proc/pid/stat, columns 14 and 22).
func (b Local) userTicks() map[int]uint64 {
	out := map[int]uint64{}
	var up float64
	if text, err := fs.ReadFile(b.Host, "proc/uptime"); err == nil {
		fmt.Sscan(string(text), &up)
	}
	ours := b.command(os.Getpid())
	names, _ := fs.Glob(b.Host, "proc/[0-9]*/stat") // the pattern is well formed
	for _, name := range names {
		pid, err := strconv.Atoi(strings.Split(name, "/")[1])
		text, gone := fs.ReadFile(b.Host, name)
		if err != nil || gone != nil {
			continue
		}
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		const utime, start = 14 - 3, 22 - 3 // f[0] is column 3
		if len(f) <= start || b.command(pid) == ours {
			continue
		}
		if began, err := strconv.ParseFloat(f[start], 64); err != nil || up-began/hertz < settled.Seconds() {
			continue
		}
		if n, err := strconv.ParseUint(f[utime], 10, 64); err == nil {
			out[pid] = n
		}
	}
	return out
}

// bound reports whether a process may run on some of the cores only.
func (b Local) bound(pid int) bool {
	text, err := fs.ReadFile(b.Host, fmt.Sprintf("process/%d/cpus", pid))
	mask, ok := new(big.Int).SetString(strings.ReplaceAll(strings.TrimSpace(string(text)), ",", ""), 16)
	if err != nil || !ok {
		return false // it ended meanwhile
	}
	may := 0
	for core := range b.cores() {
		may += int(mask.Bit(core))
	}
	return may < b.cores()
}

func (b Local) command(pid int) string {
	text, _ := fs.ReadFile(b.Host, fmt.Sprintf("proc/%d/comm", pid)) // a process may end meanwhile
	return string(text)
}
