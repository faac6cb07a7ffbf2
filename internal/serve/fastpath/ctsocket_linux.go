package fastpath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// ctSocket is a ctnetlink socket of the namespace that it was opened in. Its
// messages are read one by one in place, since every connection of the box is
// told in several.
type ctSocket struct {
	conn   *netlink.Conn
	raw    syscall.RawConn
	buffer []byte
	number uint32
}

// errOverrun is returned when the kernel had more to tell than the socket's
// buffer held.
var errOverrun = errors.New("events were lost")

func openCtSocket(groups ...uint32) (*ctSocket, error) {
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, fmt.Errorf("conntrack: %w", err)
	}
	s := &ctSocket{conn: conn, buffer: make([]byte, 1<<17)}
	if s.raw, err = conn.SyscallConn(); err != nil {
		return nil, errors.Join(fmt.Errorf("conntrack: %w", err), conn.Close())
	}
	_ = conn.SetReadBuffer(eventBuffer) // with less, more bursts need a dump
	for _, g := range groups {
		if err := conn.JoinGroup(g); err != nil {
			return nil, errors.Join(fmt.Errorf("conntrack events: %w", err), conn.Close())
		}
	}
	return s, nil
}

func (s *ctSocket) close() error { return s.conn.Close() }

// ctMessage is one message: its body lies in the socket's buffer.
type ctMessage struct {
	kind   uint16 // struct nlmsghdr's type
	number uint32
	body   []byte // after struct nlmsghdr
}

const (
	ctNew    = unix.NFNL_SUBSYS_CTNETLINK << 8 // IPCTNL_MSG_CT_NEW
	ctGet    = ctNew | 1
	ctDelete = ctNew | 2
	nlHeader = 16 // struct nlmsghdr
	nfHeader = 4  // struct nfgenmsg
)

// receive passes on the messages of one datagram; it waits for one up to the
// read deadline, or not at all. It wraps errOverrun.
func (s *ctSocket) receive(wait bool, each func(ctMessage) error) error {
	var n int
	var got error
	err := s.raw.Read(func(fd uintptr) bool {
		n, _, got = unix.Recvfrom(int(fd), s.buffer, unix.MSG_DONTWAIT)
		return !wait || !errors.Is(got, unix.EAGAIN)
	})
	switch err = errors.Join(err, got); {
	case errors.Is(err, unix.ENOBUFS):
		return fmt.Errorf("conntrack: %w", errOverrun)
	case err != nil:
		return fmt.Errorf("conntrack: %w", err)
	}
	for b := s.buffer[:n]; len(b) >= nlHeader; {
		size := int(binary.NativeEndian.Uint32(b))
		if size < nlHeader || size > len(b) {
			return errors.New("conntrack: a message is cut")
		}
		if err := each(ctMessage{binary.NativeEndian.Uint16(b[4:]), binary.NativeEndian.Uint32(b[8:]), b[nlHeader:size]}); err != nil {
			return err
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return nil
}

// append adds a request to those that send sends together.
func (s *ctSocket) append(b []byte, kind, flags uint16, family uint8, fill func([]byte) []byte) []byte {
	at := len(b)
	s.number++
	b = append(b, make([]byte, nlHeader)...)
	b = append(b, family, 0, 0, 0) // struct nfgenmsg, NFNETLINK_V0
	if fill != nil {
		b = fill(b)
	}
	binary.NativeEndian.PutUint32(b[at:], uint32(len(b)-at))
	binary.NativeEndian.PutUint16(b[at+4:], kind)
	binary.NativeEndian.PutUint16(b[at+6:], flags|unix.NLM_F_REQUEST)
	binary.NativeEndian.PutUint32(b[at+8:], s.number)
	return b
}

// send has the kernel carry out requests; it has, when send returns.
func (s *ctSocket) send(b []byte) error {
	var sent error
	err := s.raw.Write(func(fd uintptr) bool {
		sent = unix.Sendto(int(fd), b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
		return !errors.Is(sent, unix.EAGAIN)
	})
	if err = errors.Join(err, sent); err != nil {
		return fmt.Errorf("conntrack: %w", err)
	}
	return nil
}

// dump passes on every entry.
func (s *ctSocket) dump(each func(tracked)) error {
	if err := s.send(s.append(nil, ctGet, unix.NLM_F_DUMP, unix.AF_UNSPEC, nil)); err != nil {
		return err
	}
	_ = s.conn.SetReadDeadline(time.Now().Add(time.Minute))
	defer s.conn.SetReadDeadline(time.Time{})
	for done := false; !done; {
		err := s.receive(true, func(m ctMessage) error {
			switch {
			case m.number != s.number:
			case m.kind == unix.NLMSG_DONE:
				done = true
			case m.kind == unix.NLMSG_ERROR && len(m.body) >= 4:
				return fmt.Errorf("conntrack dump: %w", unix.Errno(-int32(binary.NativeEndian.Uint32(m.body))))
			case m.kind == ctNew && len(m.body) >= nfHeader:
				each(readTracked(m.body[nfHeader:]))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// soften tells conntrack not to judge the sequence numbers of TCP connections
// that become fast: it does not see what goes beside it, and would take their
// FIN for invalid. It calls refused with those that it could not tell of, which
// are gone or on their way.
func (s *ctSocket) soften(all []Connection, refused func(i int)) error {
	var b []byte
	first := s.number + 1
	for _, c := range all {
		family := uint8(unix.AF_INET)
		if c.Original.Source.Addr().Is6() {
			family = unix.AF_INET6
		}
		b = s.append(b, ctNew, 0, family, func(b []byte) []byte { return appendLiberal(b, c) })
	}
	if err := s.send(b); err != nil {
		return err
	}
	// Without NLM_F_ACK only errors are answered, before send returned.
	for {
		err := s.receive(false, func(m ctMessage) error {
			if i := int(m.number - first); m.kind == unix.NLMSG_ERROR && i >= 0 && i < len(all) {
				refused(i)
			}
			return nil
		})
		if errors.Is(err, unix.EAGAIN) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
