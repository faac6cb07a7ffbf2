package synthetic

import (
	"os"

	"golang.org/x/sys/unix"
)

// zeros makes a memory file that is one hole: the kernel reads its page of
// zeros for each page and takes no memory.
func zeros() (*os.File, error) {
	fd, err := unix.MemfdCreate("linerate-zeros", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "zeros")
	if err := f.Truncate(zerosSize); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
