package lever

import (
	"os"

	"golang.org/x/sys/unix"
)

// inodeOf returns the number that tells a namespace from all others.
func inodeOf(path string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return st.Ino, nil
}
