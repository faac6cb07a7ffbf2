package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// reserve takes space for n bytes behind offset without changing f's size.
// File systems that can't do that let it pass.
func reserve(f *os.File, offset, n int64) error {
	rc, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	err = rc.Control(func(fd uintptr) {
		ferr = unix.Fallocate(int(fd), unix.FALLOC_FL_KEEP_SIZE, offset, n)
	})
	if err != nil {
		return err
	}
	if ferr == unix.ENOSPC || ferr == unix.EDQUOT || ferr == unix.EFBIG {
		return ferr
	}
	return nil
}
