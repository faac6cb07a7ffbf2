package data

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// direct is a TCP connection outside Go's poller: its calls wait in the kernel.
// It has no deadlines; shut ends a wait.
type direct struct {
	*os.File
	raw           syscall.RawConn
	local, remote net.Addr

	mu     sync.Mutex
	closed bool
}

// detach moves the transfer's socket out of the poller where it may and a
// thread is free. The connection that the transfer began with is closed then.
func (t *transfer) detach() {
	o := &t.opt
	if o.Threads == nil || o.Copy || o.Limit != nil || o.SendSize > 0 || o.ReceiveLimit > 0 || o.Yield {
		return // what cuts a transfer up makes many short waits
	}
	c := t.conn
	secure, ok := c.(*TLSConn)
	if ok {
		c = secure.NetConn()
	}
	tcp, ok := c.(*net.TCPConn) // nothing but TLS may lie on top
	if !ok || !o.Threads.take() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped != nil { // the deadline says so, and would get lost
		o.Threads.give()
		return
	}
	d, err := newDirect(tcp)
	if err != nil {
		o.Threads.give()
		return // the poller serves too
	}
	tcp.Close() // our descriptor keeps the socket
	t.direct = d
	if secure != nil {
		secure.gather.below(d)
	} else {
		t.conn = d
	}
}

// breath is how long a receive waits before it gives what has come: below the
// low water mark, it would wait on.
const breath = 100 * time.Millisecond

func newDirect(c *net.TCPConn) (*direct, error) {
	rc, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	cerr := rc.Control(func(old uintptr) {
		if fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0); err == nil {
			wait := unix.NsecToTimeval(breath.Nanoseconds())
			_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait)
			err = unix.SetNonblock(fd, false) // of both, before os.NewFile looks
		}
	})
	if cerr != nil {
		return nil, cerr
	}
	if err != nil {
		if fd >= 0 {
			unix.Close(fd)
			_ = rc.Control(func(old uintptr) { _ = unix.SetNonblock(int(old), true) })
		}
		return nil, err
	}
	d := &direct{File: os.NewFile(uintptr(fd), "data connection"), local: c.LocalAddr(), remote: c.RemoteAddr()}
	d.raw, err = d.File.SyscallConn()
	return d, err // the file is not closed, so there is none
}

// Read implements io.Reader.
func (d *direct) Read(p []byte) (int, error) {
	for {
		n, err := d.File.Read(p)
		if !errors.Is(err, unix.EAGAIN) {
			return n, err
		}
	}
}

func (d *direct) LocalAddr() net.Addr                   { return d.local }
func (d *direct) RemoteAddr() net.Addr                  { return d.remote }
func (d *direct) SyscallConn() (syscall.RawConn, error) { return d.raw, nil }

// The deadlines are those of crypto/tls, which sets them for its close_notify
// only; Options.Stall bounds that too.
func (d *direct) SetDeadline(time.Time) error      { return nil }
func (d *direct) SetReadDeadline(time.Time) error  { return nil }
func (d *direct) SetWriteDeadline(time.Time) error { return nil }

// CloseWrite sends FIN.
func (d *direct) CloseWrite() error { return d.shutdown(unix.SHUT_WR) }

// shut ends both directions and so every call that waits.
func (d *direct) shut() { _ = d.shutdown(unix.SHUT_RDWR) }

func (d *direct) shutdown(how int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return net.ErrClosed
	}
	var err error
	cerr := d.raw.Control(func(fd uintptr) { err = unix.Shutdown(int(fd), how) })
	if cerr != nil {
		return cerr
	}
	return os.NewSyscallError("shutdown", err)
}

// Close closes the socket; to do so again does nothing.
func (d *direct) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	return d.File.Close()
}

// acknowledged returns how many bytes of ours the peer has acknowledged.
func (d *direct) acknowledged() int64 {
	var n int64
	_ = d.raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			n = int64(info.Bytes_acked)
		}
	})
	return n
}
