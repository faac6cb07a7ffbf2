package stream

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Detach takes a connection away from the poller of package net, which wakes a
// thread for everything that arrives on a socket, whether or not anyone waits
// for it there: for small messages that costs as much as receiving them. c is
// closed, the connection it returns is the same one and blocks.
func Detach(c net.Conn) (net.Conn, error) {
	if _, done := c.(*detached); done {
		return c, nil
	}
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("%T has no descriptor", c)
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	d := &detached{fd: -1, local: c.LocalAddr(), remote: c.RemoteAddr()}
	cerr := rc.Control(func(fd uintptr) {
		if d.fd, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err == nil {
			err = unix.SetNonblock(d.fd, false)
		}
	})
	if cerr != nil {
		err = cerr
	}
	c.Close() // the connection lives on in the copy
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("detach %v: %w", d.local, err)
	}
	return d, nil
}

// detached is a connection outside the poller. Its deadlines are those of the
// socket (SO_RCVTIMEO, SO_SNDTIMEO), which newSock sets.
type detached struct {
	mu            sync.Mutex // of fd against Close
	fd            int        // -1 when closed
	local, remote net.Addr
}

func (d *detached) with(f func(fd uintptr) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fd < 0 {
		return net.ErrClosed
	}
	return f(uintptr(d.fd))
}

// SyscallConn gives access to the descriptor.
func (d *detached) SyscallConn() (syscall.RawConn, error) { return raw{d}, nil }

// raw is a syscall.RawConn for Control alone: the socket blocks, there is
// nothing to wait for.
type raw struct{ d *detached }

func (r raw) Control(f func(fd uintptr)) error {
	return r.d.with(func(fd uintptr) error { f(fd); return nil })
}
func (raw) Read(func(fd uintptr) bool) error  { return errors.ErrUnsupported }
func (raw) Write(func(fd uintptr) bool) error { return errors.ErrUnsupported }

func (d *detached) Read(b []byte) (n int, err error) {
	err = d.with(func(fd uintptr) error { n, err = unix.Read(int(fd), b); return err })
	return max(n, 0), err
}

func (d *detached) Write(b []byte) (n int, err error) {
	err = d.with(func(fd uintptr) error { n, err = len(b), unix.Sendto(int(fd), b, unix.MSG_NOSIGNAL, nil); return err })
	return n, err
}

// CloseWrite ends what this end sends.
func (d *detached) CloseWrite() error {
	return d.with(func(fd uintptr) error { return unix.Shutdown(int(fd), unix.SHUT_WR) })
}

// Close closes the connection.
func (d *detached) Close() error {
	return d.with(func(fd uintptr) error { d.fd = -1; return unix.Close(int(fd)) })
}

func (d *detached) LocalAddr() net.Addr            { return d.local }
func (d *detached) RemoteAddr() net.Addr           { return d.remote }
func (*detached) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (*detached) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (*detached) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }
