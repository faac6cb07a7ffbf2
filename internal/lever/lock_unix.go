//go:build unix

package lever

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// share takes part in the lock of a journal, which lasts as long as f is open
// and this process lives.
func share(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) }

// free reports whether nobody takes part in the lock of the file.
func free(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return !errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}
