package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// processes is the tree below process/: which cores a process may run on, as
// taskset(1) shows and sets it for all its threads.
type processes struct{}

func (processes) open(rest string) (fs.File, error) {
	pid, leaf, _ := strings.Cut(rest, "/")
	if _, err := strconv.Atoi(pid); err != nil || leaf != "cpus" {
		return nil, fs.ErrNotExist
	}
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(status)) {
		if mask, ok := strings.CutPrefix(line, "Cpus_allowed:"); ok {
			return file(rest, []byte(strings.TrimSpace(mask)+"\n")), nil
		}
	}
	return nil, fs.ErrNotExist
}

// write takes a hexadecimal mask (sched_setaffinity(2)).
func (processes) write(rest, value string) error {
	pid, leaf, _ := strings.Cut(rest, "/")
	if leaf != "cpus" {
		return fmt.Errorf("not a setting: %w", ErrUnsupported)
	}
	var set unix.CPUSet
	words := strings.Split(strings.TrimSpace(value), ",")
	for i, word := range words {
		bits, err := strconv.ParseUint(word, 16, 32)
		if err != nil {
			return fmt.Errorf("%q: want a mask of cores", value)
		}
		for n := range 32 {
			if bits>>n&1 == 1 {
				set.Set(32*(len(words)-1-i) + n)
			}
		}
	}
	threads, err := os.ReadDir("/proc/" + pid + "/task")
	if err != nil {
		return err
	}
	var errs []error
	for _, t := range threads {
		tid, _ := strconv.Atoi(t.Name()) // they are numbers
		if err := unix.SchedSetaffinity(tid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, os.NewSyscallError("sched_setaffinity", err))
		}
	}
	return errors.Join(errs...)
}
