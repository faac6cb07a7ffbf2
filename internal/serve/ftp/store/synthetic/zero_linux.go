package synthetic

import (
	"os"

	"golang.org/x/sys/unix"
)

// zeros makes a memory file. Its pages are written, not left a hole: pages next
// to each other go out as one piece, the kernel's page of zeros never does.
func zeros() (*os.File, error) {
	fd, err := unix.MemfdCreate("linerate-zeros", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "zeros")
	if _, err := f.Write(make([]byte, zerosSize)); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
