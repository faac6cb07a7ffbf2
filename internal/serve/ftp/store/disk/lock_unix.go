//go:build unix

package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock takes f for this upload alone; false where another has it. A lock of
// the open file serves between stores of one directory and between processes,
// and ends with a crash.
func lock(f *os.File) bool {
	rc, err := f.SyscallConn()
	if err != nil {
		return false
	}
	var lerr error
	err = rc.Control(func(fd uintptr) { lerr = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB) })
	return err == nil && lerr == nil
}
