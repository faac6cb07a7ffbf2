package inspect

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring reads a BPF ring buffer where it lies, without a copy or a system call
// (linux Documentation/bpf/ringbuf.rst): a page with the reader's position, one
// with the writer's, then the data, mapped twice in a row so that records never
// wrap.
type ring struct {
	consumer, producer []byte   // mappings
	read, written      *uintptr // the kernel's unsigned long
	data               []byte
	mask               uintptr
}

// Bits of a record's length.
const (
	ringBusy    = 1 << 31
	ringDiscard = 1 << 30
	ringHeader  = 8
)

func openRing(fd, size int) (*ring, error) {
	page := os.Getpagesize()
	r := &ring{mask: uintptr(size - 1)}
	var err error
	if r.consumer, err = unix.Mmap(fd, 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("map ring: %w", err)
	}
	if r.producer, err = unix.Mmap(fd, int64(page), page+2*size, unix.PROT_READ, unix.MAP_SHARED); err != nil {
		_ = unix.Munmap(r.consumer)
		return nil, fmt.Errorf("map ring: %w", err)
	}
	r.read = (*uintptr)(unsafe.Pointer(&r.consumer[0]))
	r.written = (*uintptr)(unsafe.Pointer(&r.producer[0]))
	r.data = r.producer[page:]
	return r, nil
}

// drain lends every finished record to take and returns how many bytes of the
// ring that freed. The positions are shared with a writer on another core, which
// each look at them slows down: they are read once for all that is there, and
// written in pieces, so that the writer never waits for all of it.
func (r *ring) drain(take func([]byte)) int {
	const piece = 256
	began := atomic.LoadUintptr(r.read)
	at, end := began, began
	for n := 1; ; n++ {
		if at == end {
			if end = atomic.LoadUintptr(r.written); at == end {
				break
			}
		}
		head := r.data[at&r.mask:]
		length := atomic.LoadUint32((*uint32)(unsafe.Pointer(&head[0])))
		if length&ringBusy != 0 {
			break
		}
		size := length &^ (ringBusy | ringDiscard)
		if length&ringDiscard == 0 {
			take(head[ringHeader : ringHeader+size])
		}
		at += uintptr(ringHeader+size+7) &^ 7
		if n%piece == 0 {
			atomic.StoreUintptr(r.read, at)
		}
	}
	atomic.StoreUintptr(r.read, at)
	return int(at - began)
}

func (r *ring) close() {
	_ = unix.Munmap(r.consumer)
	_ = unix.Munmap(r.producer)
}
