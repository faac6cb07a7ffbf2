package iperf3

import (
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// shareAddress lets several UDP sockets have the server's port.
func shareAddress(_, _ string, rc syscall.RawConn) error {
	var err error
	if cerr := rc.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) }); cerr != nil {
		return cerr
	}
	return err
}

// strays returns the senders of the datagrams that wait in conn.
func strays(conn *net.UDPConn) (from []netip.AddrPort) {
	rc, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	var b [64]byte
	_ = rc.Control(func(fd uintptr) {
		for range maxWaiting {
			_, sa, err := unix.Recvfrom(int(fd), b[:], unix.MSG_DONTWAIT)
			if err != nil {
				return
			}
			switch sa := sa.(type) {
			case *unix.SockaddrInet4:
				from = append(from, netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)))
			case *unix.SockaddrInet6:
				from = append(from, netip.AddrPortFrom(netip.AddrFrom16(sa.Addr).Unmap(), uint16(sa.Port)))
			}
		}
	})
	return from
}

// inherit gives the listener a congestion control for the connections to come
// and returns what puts the old one back.
func (s *Server) inherit(name string) (restore func(), err error) {
	s.algo.Lock()
	rc, err := s.tcp.SyscallConn()
	if err != nil {
		s.algo.Unlock()
		return nil, err
	}
	set := func(name string) (old string, err error) {
		cerr := rc.Control(func(fd uintptr) {
			if old, err = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION); err == nil {
				err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
			}
		})
		if cerr != nil {
			err = cerr
		}
		return old, err
	}
	old, err := set(name)
	if err != nil {
		s.algo.Unlock()
		return nil, fmt.Errorf("congestion control %q: %w", name, err)
	}
	return func() {
		_, _ = set(old) // the listener had it before
		s.algo.Unlock()
	}, nil
}
