package port

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// raw is a Port on a packet socket that sends and receives many frames a call.
// On veth it sends faster than a transmit ring does.
type raw struct {
	info   Info
	fd     int
	stamps bool // frames received carry their time
	in     messages
	out    messages
}

// messages are the arguments of sendmmsg(2) and recvmmsg(2).
type messages struct {
	head []mmsghdr
	iov  []unix.Iovec
	mem  []byte // receive buffers, one behind the other
	ctl  []byte // of PACKET_AUXDATA, and of time stamps where these are asked for
}

// The kernel takes a VLAN tag out of the frame; a receive buffer leaves room to
// put it back.
const (
	tagBytes     = 4
	addressBytes = 12
)

var controlBytes = unix.CmsgSpace(int(unsafe.Sizeof(unix.TpacketAuxdata{})))

type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
	_   [4 * (^uint(0) >> 63)]byte // padding of a 64-bit struct mmsghdr
}

// OpenRaw opens an interface for frames of one's own making. Sending bypasses
// the queueing discipline; what is received, the stack sees too. It needs
// CAP_NET_RAW.
func OpenRaw(name string) (Port, error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("port: %s: %w", name, err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("port: packet socket on %s (it needs CAP_NET_RAW): %w", name, err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1)    // slower without, and still right
	_ = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1) // since Linux 4.20; Recv filters too
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 32<<20)    // as much as allowed without
	_ = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1)         // since Linux 2.6.21
	err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: ifi.Index})
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("port: bind to %s: %w", name, err)
	}
	r := &raw{fd: fd, info: Info{Name: name + ", AF_PACKET", Link: 1, MTU: ifi.MTU, Batch: batch}}
	r.in.size(batch, ifi.MTU+64)
	r.out.size(batch, 0)
	return r, nil
}

// networkOrder returns v as the kernel wants protocols in a socket address.
func networkOrder(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

// size prepares n messages with a buffer of each bytes, if not 0.
func (m *messages) size(n, each int) {
	m.head, m.iov, m.mem = make([]mmsghdr, n), make([]unix.Iovec, n), make([]byte, n*each)
	m.stamped(0)
	for i := range m.head {
		if each > 0 {
			m.iov[i].Base = &m.mem[i*each+tagBytes]
			m.iov[i].SetLen(each - tagBytes)
		}
		m.head[i].hdr.Iov = &m.iov[i]
		m.head[i].hdr.SetIovlen(1)
	}
}

// stamped leaves room of so many bytes for the time stamp beside each frame.
func (m *messages) stamped(bytes int) { m.ctl = make([]byte, len(m.head)*(controlBytes+bytes)) }

// control is what the kernel told beside the i-th frame.
func (m *messages) control(i int) []byte {
	each := len(m.ctl) / len(m.head)
	return m.ctl[i*each : i*each+int(m.head[i].hdr.Controllen)]
}

// wantControl asks for the tag and the stamp beside each frame; the kernel has
// overwritten the length of what it gave last time.
func (m *messages) wantControl() {
	each := len(m.ctl) / len(m.head)
	for i := range m.head {
		m.head[i].hdr.Control = &m.ctl[i*each]
		m.head[i].hdr.SetControllen(each)
	}
}

// frame returns the i-th frame received, with its tag in place.
func (m *messages) frame(i int) []byte {
	each := len(m.mem) / len(m.head)
	b := m.mem[i*each : i*each+tagBytes+int(m.head[i].len)]
	b = b[:len(b):len(b)]
	aux := auxiliary(m.control(i))
	if aux.Status&unix.TP_STATUS_VLAN_VALID == 0 || len(b) < tagBytes+addressBytes {
		return b[tagBytes:]
	}
	insertTag(b, aux.Vlan_tpid, aux.Vlan_tci, aux.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0)
	return b
}

// insertTag puts a VLAN tag back into the frame that starts tagBytes after the
// start of b. Kernels before Linux 3.14 do not tell its type.
func insertTag(b []byte, tpid, tci uint16, typed bool) {
	if !typed {
		tpid = unix.ETH_P_8021Q
	}
	copy(b, b[tagBytes:tagBytes+addressBytes])
	binary.BigEndian.PutUint16(b[addressBytes:], tpid)
	binary.BigEndian.PutUint16(b[addressBytes+2:], tci)
}

// auxiliary finds what the kernel tells beside a frame (packet(7),
// PACKET_AUXDATA); zero where it tells nothing.
func auxiliary(control []byte) unix.TpacketAuxdata {
	msgs, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return unix.TpacketAuxdata{}
	}
	for _, m := range msgs {
		if m.Header.Level == unix.SOL_PACKET && m.Header.Type == unix.PACKET_AUXDATA && len(m.Data) >= int(unsafe.Sizeof(unix.TpacketAuxdata{})) {
			return *(*unix.TpacketAuxdata)(unsafe.Pointer(&m.Data[0]))
		}
	}
	return unix.TpacketAuxdata{}
}

func (r *raw) Info() Info { return r.info }

func (r *raw) Recv(into []Frame) (int, error) {
	for {
		r.in.wantControl()
		n, _, e := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(r.fd), uintptr(unsafe.Pointer(&r.in.head[0])),
			uintptr(min(len(into), batch)), unix.MSG_DONTWAIT, 0, 0)
		switch {
		case e == 0 && n > 0:
			now := time.Now()
			for i := range int(n) {
				b := r.in.frame(i)
				into[i] = Frame{Data: b, At: now, Len: len(b)}
				if r.stamps {
					if at := stampIn(r.in.control(i)); !at.IsZero() {
						into[i].At = at
					}
				}
			}
			return int(n), nil
		case e != 0 && e != unix.EAGAIN && e != unix.EINTR && e != unix.ENETDOWN: // a link that is down may come up again
			return 0, fmt.Errorf("port: receive on %s: %w", r.info.Name, e)
		}
		p := []unix.PollFd{{Fd: int32(r.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(p, int(patience.Milliseconds())); err == nil && n == 0 {
			return 0, fmt.Errorf("port: %s: %w", r.info.Name, os.ErrDeadlineExceeded)
		} else if err != nil && !errors.Is(err, unix.EINTR) {
			return 0, fmt.Errorf("port: poll %s: %w", r.info.Name, err)
		}
	}
}

func (r *raw) Send(frames []Frame) (int, error) {
	n := min(len(frames), batch)
	if n == 0 {
		return 0, nil
	}
	for i, f := range frames[:n] {
		if len(f.Data) == 0 {
			return 0, fmt.Errorf("port: send on %s: empty frame: %w", r.info.Name, unix.EINVAL)
		}
		r.out.iov[i].Base = &f.Data[0]
		r.out.iov[i].SetLen(len(f.Data))
	}
	sent, _, e := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(r.fd), uintptr(unsafe.Pointer(&r.out.head[0])), uintptr(n), 0, 0, 0)
	switch e {
	case 0:
		return int(sent), nil
	case unix.ENOBUFS, unix.EAGAIN, unix.EINTR: // the device's queue is full: try again
		return 0, nil
	}
	return 0, fmt.Errorf("port: send on %s: %w", r.info.Name, e)
}

func (r *raw) Close() error { return unix.Close(r.fd) }
