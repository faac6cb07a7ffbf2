package nic

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	sendBatch = 64 // packets per call
	partsEach = 8  // parts of a packet, its header in front included
)

// mmsghdr is struct mmsghdr of sendmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
	_   [4 * (^uint(0) >> 63)]byte // padding on 64-bit systems
}

// gather holds the arguments of a call that sends several packets, each in
// parts and with a virtio-net header if so wanted.
type gather struct {
	virtio bool
	heads  [sendBatch][virtioBytes]byte
	iov    [sendBatch * partsEach]unix.Iovec
	msgs   [sendBatch]mmsghdr
}

// fill prepares the next call and returns for how many of the packets.
func (g *gather) fill(packets []Packet) int {
	used := 0
	for i, p := range packets[:min(len(packets), sendBatch)] {
		start := used
		if g.virtio {
			putVirtio(&g.heads[i], p.Offload())
			used = g.add(used, g.heads[i][:])
		}
		parts := p.Parts()
		if len(parts) > partsEach-1 {
			parts = append(parts[:partsEach-2:partsEach-2], join(parts[partsEach-2:]))
		}
		for _, b := range parts {
			if len(b) > 0 {
				used = g.add(used, b)
			}
		}
		g.msgs[i] = mmsghdr{}
		g.msgs[i].hdr.Iov = &g.iov[start]
		g.msgs[i].hdr.SetIovlen(used - start)
	}
	return min(len(packets), sendBatch)
}

func (g *gather) add(at int, b []byte) int {
	g.iov[at].Base = &b[0]
	g.iov[at].SetLen(len(b))
	return at + 1
}

func join(parts [][]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// send makes the call on a socket that doesn't block.
func (g *gather) send(fd int, n int) (int, error) {
	sent, _, e := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&g.msgs[0])), uintptr(n), unix.MSG_DONTWAIT, 0, 0)
	runtime.KeepAlive(g)
	if e != 0 {
		return 0, e
	}
	return int(sent), nil
}

// write sends packet i to a device that takes one a call.
func (g *gather) write(fd int, i int) error {
	h := &g.msgs[i].hdr
	_, _, e := unix.Syscall(unix.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(h.Iov)), uintptr(h.Iovlen))
	runtime.KeepAlive(g)
	if e != 0 {
		return e
	}
	return nil
}

// full reports whether an error of sending means that the device's queue has
// no room for now.
func full(err error) bool { return err == unix.EAGAIN || err == unix.ENOBUFS || err == unix.EINTR }

// room waits, not for long, until fd takes more.
func room(fd int) {
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, 1) // whatever ends the wait, the next send tells
}
