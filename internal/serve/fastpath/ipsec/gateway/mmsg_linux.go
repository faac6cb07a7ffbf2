package gateway

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/segment"
)

// batch is the most packets of one system call.
const batch = 64

// message is struct mmsghdr of sendmmsg(2), with what it points to.
type message struct {
	header unix.Msghdr
	length uint32
}

// vector is messages ready for recvmmsg and sendmmsg, each with an address and
// control data of its own.
type vector struct {
	messages []message
	iovs     []unix.Iovec
	names    []unix.RawSockaddrInet6 // large enough for both families
	control  [][controlBytes]byte
}

const controlBytes = 96

func newVector(n, iovs int) *vector {
	v := &vector{make([]message, n), make([]unix.Iovec, iovs), make([]unix.RawSockaddrInet6, n), make([][controlBytes]byte, n)}
	for i := range v.messages {
		v.messages[i].header.Name = (*byte)(unsafe.Pointer(&v.names[i]))
	}
	return v
}

// expect readies the i-th message for receiving into b.
func (v *vector) expect(i int, b []byte) {
	h := &v.messages[i].header
	v.iovs[i].Base = &b[0]
	v.iovs[i].SetLen(len(b))
	h.Iov = &v.iovs[i]
	h.SetIovlen(1)
	h.Namelen = unix.SizeofSockaddrInet6
	h.Control = &v.control[i][0]
	h.SetControllen(controlBytes)
}

// receive waits for up to n messages until there is one; it returns 0 after a
// while without.
func (v *vector) receive(fd, n int) (int, error) {
	for {
		got, _, e := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&v.messages[0])), uintptr(n), unix.MSG_DONTWAIT, 0, 0)
		switch e {
		case 0:
			return int(got), nil
		case unix.EINTR:
			continue
		case unix.EAGAIN:
		default:
			return 0, e
		}
		if ready, err := wait(fd, unix.POLLIN); !ready {
			return 0, err
		}
	}
}

// send sends the first n messages. A full socket makes it wait, so that who
// fills the device is slowed down and not cut off.
func (v *vector) send(fd, n int) error {
	for at := 0; at < n; {
		sent, _, e := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&v.messages[at])), uintptr(n-at), 0, 0, 0)
		switch e {
		case 0:
			at += int(sent)
		case unix.EINTR:
		case unix.EAGAIN, unix.ENOBUFS:
			if _, err := wait(fd, unix.POLLOUT); err != nil {
				return err
			}
		default:
			return e // of the first message; the caller drops it
		}
	}
	return nil
}

// patience is how long a wait lasts before its caller looks around, in ms.
const patience = 100

func wait(fd int, events int16) (bool, error) {
	p := [1]unix.PollFd{{Fd: int32(fd), Events: events}}
	n, err := unix.Poll(p[:], patience)
	if err == unix.EINTR {
		return false, nil
	}
	return n > 0, err
}

// controls calls f for each control message that came with the i-th message.
func (v *vector) controls(i int, f func(level, kind int32, data []byte)) {
	b := v.control[i][:v.messages[i].header.Controllen]
	for len(b) >= unix.SizeofCmsghdr {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
		n := int(h.Len)
		if n < unix.SizeofCmsghdr || n > len(b) {
			return
		}
		f(h.Level, h.Type, b[unix.CmsgLen(0):n])
		b = b[min(len(b), unix.CmsgSpace(n-unix.CmsgLen(0))):]
	}
}

// put writes a control message at the i-th message's byte at and returns where
// the next one goes.
func (v *vector) put(i, at int, level, kind int32, data []byte) int {
	b := v.control[i][at:]
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = level, kind
	h.SetLen(unix.CmsgLen(len(data)))
	copy(b[unix.CmsgLen(0):], data)
	return at + unix.CmsgSpace(len(data))
}

// to writes the address of the i-th message: where the packet goes.
func (v *vector) to(i int, packet []byte, port uint16) {
	n := &v.names[i]
	*n = unix.RawSockaddrInet6{}
	h := &v.messages[i].header
	if packet[0]>>4 == 4 {
		four := (*unix.RawSockaddrInet4)(unsafe.Pointer(n))
		four.Family = unix.AF_INET
		copy(four.Addr[:], packet[16:20])
		four.Port = swap(port)
		h.Namelen = unix.SizeofSockaddrInet4
		return
	}
	n.Family, n.Port = unix.AF_INET6, swap(port)
	copy(n.Addr[:], packet[24:40])
	h.Namelen = unix.SizeofSockaddrInet6
}

// swap turns a number into network byte order.
func swap(n uint16) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], n)
	return binary.NativeEndian.Uint16(b[:])
}

// buffers enlarges a socket's queues; less than asked for is slower only.
func buffers(fd int) {
	const size = 8 << 20
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, size)
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, size)
}

// underlay binds a socket to the interface that outer packets use, if one is
// given.
func underlay(fd int, device string) error {
	if device == "" {
		return nil
	}
	if err := unix.BindToDevice(fd, device); err != nil {
		return fmt.Errorf("bind to %s: %w", device, err)
	}
	return nil
}

// outer is a way for sealed packets out and in.
type outer interface {
	// send sends the sealed packets.
	send(packets []segment.Packet) error
	// receive fills the batch with packets, IP header first.
	receive(into *segment.Batch) error
	close() error
}
