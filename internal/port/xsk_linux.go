package port

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Sizes of an AF_XDP socket: chunks of memory shared with the kernel, half of
// them for receiving, half for sending.
const (
	chunkBytes  = 4096
	chunkCount  = 4096
	ringEntries = 2048
	sendBudget  = batch       // frames that one call sends, since Linux 6.17; 32 before
	bindRetry   = time.Second // a queue stays busy for a moment after its last socket closed
)

// XDPOptions says how an AF_XDP socket is bound.
type XDPOptions struct {
	Queue    int
	Generic  bool // attach to the stack instead of the driver
	SendOnly bool // no program is attached; frames stay with the stack
	// Sockets is the XSKMAP of a program that the caller has attached: the socket
	// is put there under its queue, and no other program is attached.
	Sockets *ebpf.Map
}

// xsk is a Port on an AF_XDP socket with memory of its own.
type xsk struct {
	info     Info
	fd       int
	umem     []byte
	maps     [][]byte // the rings' mappings
	fill, rx rings
	tx, comp rings
	redirect interface{ Close() error } // program that steers the queue to us; nil with SendOnly
	lent     []uint64                   // chunks in the hands of Recv's caller
	free     []uint64                   // chunks to send from
}

// OpenXDP binds an AF_XDP socket to a queue of an interface: zero copy where
// the driver can, copying otherwise; Info.Name says which. It needs CAP_NET_RAW
// and CAP_BPF, and wraps errors.ErrUnsupported where the kernel has no AF_XDP.
func OpenXDP(name string, o XDPOptions) (Port, error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("port: %s: %w", name, err)
	}
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		return nil, fmt.Errorf("port: AF_XDP on %s: the kernel has none: %w", name, errors.ErrUnsupported)
	}
	if err != nil {
		return nil, fmt.Errorf("port: AF_XDP on %s (it needs CAP_NET_RAW): %w", name, err)
	}
	x := &xsk{fd: fd, info: Info{Link: 1, MTU: ifi.MTU, Batch: batch}}
	mode, err := x.open(ifi.Index, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("port: AF_XDP on %s queue %d: %w", name, o.Queue, err), x.Close())
	}
	x.info.Name = fmt.Sprintf("%s queue %d, AF_XDP %s", name, o.Queue, mode)
	return x, nil
}

func (x *xsk) open(index int, o XDPOptions) (mode string, err error) {
	if x.umem, err = unix.Mmap(-1, 0, chunkBytes*chunkCount, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE); err != nil {
		return "", fmt.Errorf("memory: %w", err)
	}
	reg := unix.XDPUmemReg{Addr: uint64(uintptr(unsafe.Pointer(&x.umem[0]))), Len: uint64(len(x.umem)), Size: chunkBytes}
	if err := setsockopt(x.fd, unix.XDP_UMEM_REG, unsafe.Pointer(&reg), unsafe.Sizeof(reg)); err != nil {
		return "", fmt.Errorf("register memory: %w", err)
	}
	if err := x.mapRings(); err != nil {
		return "", err
	}
	for i := range uint64(chunkCount) {
		if i < ringEntries {
			x.lent = append(x.lent, i*chunkBytes)
		} else {
			x.free = append(x.free, i*chunkBytes)
		}
	}
	x.refill()
	const maxTxBudget = 9                                               // XDP_MAX_TX_SKB_BUDGET, linux/if_xdp.h
	_ = unix.SetsockoptInt(x.fd, unix.SOL_XDP, maxTxBudget, sendBudget) // slower without, and still right
	if mode, err = x.bind(index, o.Queue); err != nil {
		return "", err
	}
	if o.Sockets != nil {
		if err := o.Sockets.Put(uint32(o.Queue), uint32(x.fd)); err != nil {
			return "", fmt.Errorf("steer: %w", err)
		}
	}
	if o.SendOnly || o.Sockets != nil {
		return mode, nil
	}
	s, err := steer(index, o.Queue, x.fd, o.Generic)
	if err != nil {
		return "", err // and no nil *steered in the interface, which Close would call
	}
	x.redirect = s
	return mode, nil
}

// bind asks for zero copy first; a driver that cannot refuses.
func (x *xsk) bind(index, queue int) (mode string, err error) {
	for deadline := time.Now().Add(bindRetry); ; time.Sleep(10 * time.Millisecond) {
		for _, m := range []struct {
			name  string
			flags uint16
		}{{"zero copy", unix.XDP_ZEROCOPY | unix.XDP_USE_NEED_WAKEUP}, {"copying", unix.XDP_COPY | unix.XDP_USE_NEED_WAKEUP}} {
			err = unix.Bind(x.fd, &unix.SockaddrXDP{Flags: m.flags, Ifindex: uint32(index), QueueID: uint32(queue)})
			if err == nil {
				return m.name, nil
			}
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return "", fmt.Errorf("bind: %w", err)
		}
	}
}

func (x *xsk) Info() Info { return x.info }

func (x *xsk) Recv(into []Frame) (int, error) {
	x.refill()
	for {
		now := time.Now()
		n := x.rx.take(len(into), func(i int, slot uint32) {
			d := x.rx.descs[slot]
			into[i] = Frame{Data: x.umem[d.Addr : d.Addr+uint64(d.Len) : d.Addr+uint64(d.Len)], At: now, Len: int(d.Len)}
			x.lent = append(x.lent, d.Addr&^(chunkBytes-1))
		})
		if n > 0 {
			return n, nil
		}
		p := []unix.PollFd{{Fd: int32(x.fd), Events: unix.POLLIN}}
		switch n, err := unix.Poll(p, int(patience.Milliseconds())); {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, fmt.Errorf("port: poll %s: %w", x.info.Name, err)
		case n == 0:
			return 0, fmt.Errorf("port: %s: %w", x.info.Name, os.ErrDeadlineExceeded)
		}
	}
}

// refill gives the chunks that the caller is done with back to the kernel.
func (x *xsk) refill() {
	n := x.fill.give(len(x.lent), func(i int, slot uint32) { x.fill.addrs[slot] = x.lent[i] })
	x.lent = append(x.lent[:0], x.lent[n:]...)
}

func (x *xsk) Send(frames []Frame) (int, error) {
	x.reclaim()
	n := min(len(frames), len(x.free))
	for _, f := range frames[:n] {
		if len(f.Data) > chunkBytes {
			return 0, fmt.Errorf("port: %s: frame of %d bytes, at most %d fit: %w", x.info.Name, len(f.Data), chunkBytes, unix.EMSGSIZE)
		}
	}
	n = x.tx.give(n, func(i int, slot uint32) {
		at := x.free[len(x.free)-1-i]
		copy(x.umem[at:at+chunkBytes], frames[i].Data)
		x.tx.descs[slot] = unix.XDPDesc{Addr: at, Len: uint32(len(frames[i].Data))}
	})
	x.free = x.free[:len(x.free)-n]
	return n, x.kick()
}

// reclaim takes back the chunks of frames that are sent.
func (x *xsk) reclaim() {
	x.comp.take(ringEntries, func(_ int, slot uint32) { x.free = append(x.free, x.comp.addrs[slot]) })
}

// kick has the kernel send. EAGAIN, EBUSY and ENOBUFS mean that it goes on
// when there is room.
func (x *xsk) kick() error {
	_, _, e := unix.Syscall6(unix.SYS_SENDTO, uintptr(x.fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	switch e {
	case 0, unix.EAGAIN, unix.EBUSY, unix.ENOBUFS, unix.EINTR:
		return nil
	}
	return fmt.Errorf("port: send on %s: %w", x.info.Name, e)
}

func (x *xsk) Close() error {
	var err error
	if x.redirect != nil {
		err = x.redirect.Close()
	}
	err = errors.Join(err, unix.Close(x.fd))
	for _, m := range append(x.maps, x.umem) {
		if m != nil {
			err = errors.Join(err, unix.Munmap(m))
		}
	}
	return err
}
