package data

import (
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Control sets the knobs of a socket that isn't connected yet: for
// net.ListenConfig and net.Dialer. Only so do buffers count for the window
// scale (RFC 7323 2.2).
func (k Knobs) Control(_, _ string, c syscall.RawConn) error {
	var err error
	cerr := c.Control(func(fd uintptr) { err = k.set(int(fd)) })
	if cerr != nil {
		return cerr
	}
	return err
}

func (k Knobs) set(fd int) error {
	if k.SendBuffer > 0 {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, k.SendBuffer); err != nil {
			return fmt.Errorf("set the send buffer: %w", err)
		}
	}
	if k.ReceiveBuffer > 0 {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, k.ReceiveBuffer); err != nil {
			return fmt.Errorf("set the receive buffer: %w", err)
		}
	}
	return k.setCongestion(fd)
}

func (k Knobs) setCongestion(fd int) error {
	if k.Congestion == "" {
		return nil
	}
	if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, k.Congestion); err != nil {
		return fmt.Errorf("set congestion control %q (sysctl net.ipv4.tcp_available_congestion_control lists what there is): %w", k.Congestion, err)
	}
	return nil
}

func (t *transfer) tuneSocket(c *net.TCPConn, receiving bool) error {
	rc, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var serr error
	err = rc.Control(func(fd uintptr) {
		serr = t.opt.setCongestion(int(fd))
		if n := t.lowWater(); receiving && n > 1 {
			// Only a saving: a socket without it works too.
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, n)
		}
	})
	if err != nil {
		return err
	}
	return serr
}

// lowWater returns the SO_RCVLOWAT in use; 0 for none.
func (t *transfer) lowWater() int {
	_, plain := t.socket()
	switch {
	case !plain:
		// A TLS peer may say close_notify and wait for ours before it sends
		// FIN: the end of the file would lie below the mark.
		return 0
	case t.opt.LowWater != 0:
		return t.opt.LowWater
	case t.opt.ReceiveBuffer > 0 || t.opt.ReceiveLimit > 0 || t.opt.Limit != nil:
		return 0 // small windows would run dry
	}
	return lowWater
}

// setEager takes the low water mark away, which wakes a receiver up for what
// is there, or puts it back.
func (t *transfer) setEager(eager bool) {
	n := t.lowWater()
	c, ok := netConn(t.conn).(syscall.Conn)
	if n <= 1 || !t.receiving || !ok {
		return
	}
	if eager {
		n = 1
	}
	if rc, err := c.SyscallConn(); err == nil {
		_ = rc.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, n) })
	}
}
