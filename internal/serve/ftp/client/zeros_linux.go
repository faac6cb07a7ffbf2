package client

import (
	"os"

	"golang.org/x/sys/unix"
)

// zeroFile returns a file of n zero bytes that takes no memory: its pages are
// never written, so sendfile(2) sends the kernel's one page of zeros. nil where
// the kernel won't.
func zeroFile(n int64) *os.File {
	fd, err := unix.MemfdCreate("zeros", unix.MFD_CLOEXEC)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), "zeros")
	if f.Truncate(n) != nil {
		_ = f.Close()
		return nil
	}
	return f
}
