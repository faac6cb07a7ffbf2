package netlink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Error is a refusal by the kernel.
type Error struct {
	Errno  unix.Errno
	Reason string // the kernel's own words (extended acknowledgement), if any
}

func (e *Error) Error() string {
	if e.Reason == "" {
		return e.Errno.Error()
	}
	return e.Errno.Error() + ": " + e.Reason
}

func (e *Error) Unwrap() error { return e.Errno }

const (
	receiveBuffer = 64 << 10        // a dump part is at most 32 KiB (NLMSG_GOODSIZE and above)
	maxDump       = 256 << 20       // bounds what one request may answer
	patience      = 2 * time.Second // the kernel answers within the call; more means a lost answer
)

// Conn is a netlink socket in the network namespace of the thread that dialled.
// It is for one goroutine.
type Conn struct {
	fd  int
	seq uint32
	buf []byte
}

// Dial opens a socket of a netlink protocol, such as unix.NETLINK_ROUTE.
func Dial(protocol int) (*Conn, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return nil, os.NewSyscallError("socket(AF_NETLINK)", err)
	}
	// Old kernels lack these two; without them a refusal is only less well worded.
	_ = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_EXT_ACK, 1)
	_ = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1)
	tv := unix.NsecToTimeval(patience.Nanoseconds())
	err = errors.Join(
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv),
		unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("netlink socket: %w", err)
	}
	return &Conn{fd: fd, buf: make([]byte, receiveBuffer)}, nil
}

// Close gives the socket back.
func (c *Conn) Close() error { return unix.Close(c.fd) }

// Request sends one message and returns the answers. A refusal is an *Error.
func (c *Conn) Request(typ, flags uint16, payload []byte) ([]Message, error) {
	raw, err := c.Exchange(typ, flags, payload)
	if err != nil {
		return nil, err
	}
	return Messages(raw, binary.NativeEndian)
}

// Exchange is Request with the answers as the kernel sent them, for recording.
func (c *Conn) Exchange(typ, flags uint16, payload []byte) ([]byte, error) {
	c.seq++
	order := binary.NativeEndian
	req := order.AppendUint32(nil, uint32(headerLen+len(payload)))
	req = order.AppendUint16(req, typ)
	req = order.AppendUint16(req, flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	req = order.AppendUint32(req, c.seq)
	req = order.AppendUint32(req, 0)
	req = append(req, payload...)
	if err := unix.Sendto(c.fd, req, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, os.NewSyscallError("sendto(AF_NETLINK)", err)
	}
	var out []byte
	for len(out) < maxDump {
		n, _, err := unix.Recvfrom(c.fd, c.buf, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, os.NewSyscallError("recvfrom(AF_NETLINK)", err)
		}
		part, last, err := c.split(c.buf[:n])
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
		if last {
			return out, nil
		}
	}
	return nil, fmt.Errorf("%w: an answer of more than %d bytes", ErrMalformed, maxDump)
}

// split takes the answers to the latest request out of one datagram and tells
// whether it was the last one.
func (c *Conn) split(b []byte) (part []byte, last bool, err error) {
	order := binary.NativeEndian
	for len(b) >= headerLen {
		n := int64(order.Uint32(b))
		if n < headerLen || n > int64(len(b)) {
			return nil, false, fmt.Errorf("%w: length %d of %d bytes", ErrMalformed, n, len(b))
		}
		whole, typ, flags := b[:n], order.Uint16(b[4:]), order.Uint16(b[6:])
		if order.Uint32(b[8:]) == c.seq {
			switch typ {
			case unix.NLMSG_DONE, unix.NLMSG_ERROR:
				return part, true, acknowledgement(whole[headerLen:], flags)
			case unix.NLMSG_NOOP:
			default:
				part = append(part, whole...)
				for len(part)%4 != 0 {
					part = append(part, 0)
				}
			}
		}
		b = b[min(align(n), int64(len(b))):]
	}
	return part, false, nil
}

// nlmsgerrAttrMsg is the attribute with the kernel's words (NLMSGERR_ATTR_MSG).
const nlmsgerrAttrMsg = 1

// acknowledgement reads the body of NLMSG_ERROR or NLMSG_DONE: an errno, for
// NLMSG_ERROR the header of the request, and attributes where flags say so.
func acknowledgement(b []byte, flags uint16) error {
	if len(b) < 4 {
		return nil
	}
	errno := int32(binary.NativeEndian.Uint32(b))
	if errno == 0 {
		return nil
	}
	e := &Error{Errno: unix.Errno(-errno)}
	const ackTLVs, capped = 0x200, 0x100 // NLM_F_ACK_TLVS, NLM_F_CAPPED
	skip := int64(4 + headerLen)
	if flags&capped == 0 && len(b) >= 8 {
		skip = 4 + align(int64(binary.NativeEndian.Uint32(b[4:])))
	}
	if flags&ackTLVs != 0 && skip <= int64(len(b)) {
		for typ, v := range Attributes(b[skip:], binary.NativeEndian) {
			if typ == nlmsgerrAttrMsg {
				e.Reason = String(v)
			}
		}
	}
	return e
}
