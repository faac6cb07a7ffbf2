package memory

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// allocate maps a memory file (memfd_create(2)) of n bytes. It takes memory
// only as pages are touched.
func allocate(n int) ([]byte, *os.File, error) {
	fd, err := unix.MemfdCreate("linerate-store", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, nil, fmt.Errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "memory store")
	if err := f.Truncate(int64(n)); err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("memory file of %d bytes: %w", n, err)
	}
	mem, err := unix.Mmap(fd, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("map %d bytes (a smaller budget may fit): %w", n, err)
	}
	// Refused where huge pages for shared memory are off; small ones do too.
	_ = unix.Madvise(mem, unix.MADV_HUGEPAGE)
	return mem, f, nil
}

// populate touches the pages of mem without changing them. Kernels before 5.14
// refuse it, and then the first upload touches them.
func populate(mem []byte) error { return unix.Madvise(mem, unix.MADV_POPULATE_WRITE) }

func unmap(mem []byte) error { return unix.Munmap(mem) }
