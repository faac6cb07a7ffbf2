package port

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rings is one ring shared with the kernel: one side produces, the other
// consumes; each caches its own index (linux Documentation/networking/af_xdp).
type rings struct {
	producer, consumer *uint32
	descs              []unix.XDPDesc // receive and transmit rings
	addrs              []uint64       // fill and completion rings
	mine               uint32         // own index: producer of fill and transmit, consumer of the others
}

const ringMask = ringEntries - 1

// give produces up to n entries and returns how many had room.
func (r *rings) give(n int, put func(i int, slot uint32)) int {
	room := ringEntries - int(r.mine-atomic.LoadUint32(r.consumer))
	n = min(n, room)
	for i := range n {
		put(i, (r.mine+uint32(i))&ringMask)
	}
	r.mine += uint32(n)
	atomic.StoreUint32(r.producer, r.mine)
	return n
}

// take consumes up to n entries.
func (r *rings) take(n int, get func(i int, slot uint32)) int {
	n = min(n, int(atomic.LoadUint32(r.producer)-r.mine))
	for i := range n {
		get(i, (r.mine+uint32(i))&ringMask)
	}
	r.mine += uint32(n)
	atomic.StoreUint32(r.consumer, r.mine)
	return n
}

func (x *xsk) mapRings() error {
	for _, opt := range []int{unix.XDP_UMEM_FILL_RING, unix.XDP_UMEM_COMPLETION_RING, unix.XDP_RX_RING, unix.XDP_TX_RING} {
		if err := unix.SetsockoptInt(x.fd, unix.SOL_XDP, opt, ringEntries); err != nil {
			return fmt.Errorf("ring %d: %w", opt, err)
		}
	}
	var off unix.XDPMmapOffsets
	size := uint32(unsafe.Sizeof(off))
	if _, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(x.fd), unix.SOL_XDP, unix.XDP_MMAP_OFFSETS,
		uintptr(unsafe.Pointer(&off)), uintptr(unsafe.Pointer(&size)), 0); e != 0 {
		return fmt.Errorf("ring offsets: %w", e)
	}
	for _, m := range []struct {
		r    *rings
		off  unix.XDPRingOffset
		page int64
		addr bool
	}{
		{&x.rx, off.Rx, unix.XDP_PGOFF_RX_RING, false}, {&x.tx, off.Tx, unix.XDP_PGOFF_TX_RING, false},
		{&x.fill, off.Fr, unix.XDP_UMEM_PGOFF_FILL_RING, true}, {&x.comp, off.Cr, unix.XDP_UMEM_PGOFF_COMPLETION_RING, true},
	} {
		entry := int(unsafe.Sizeof(unix.XDPDesc{}))
		if m.addr {
			entry = 8
		}
		b, err := unix.Mmap(x.fd, m.page, int(m.off.Desc)+ringEntries*entry, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
		if err != nil {
			return fmt.Errorf("map ring: %w", err)
		}
		x.maps = append(x.maps, b)
		m.r.producer = (*uint32)(unsafe.Pointer(&b[m.off.Producer]))
		m.r.consumer = (*uint32)(unsafe.Pointer(&b[m.off.Consumer]))
		if m.addr {
			m.r.addrs = unsafe.Slice((*uint64)(unsafe.Pointer(&b[m.off.Desc])), ringEntries)
		} else {
			m.r.descs = unsafe.Slice((*unix.XDPDesc)(unsafe.Pointer(&b[m.off.Desc])), ringEntries)
		}
	}
	return nil
}

func setsockopt(fd, opt int, p unsafe.Pointer, size uintptr) error {
	if _, _, e := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_XDP, uintptr(opt), uintptr(p), size, 0); e != 0 {
		return e
	}
	return nil
}
