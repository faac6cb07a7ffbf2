package data

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// discardSize is the most that one receive drops.
const discardSize = 64 << 20

// recvDiscard lets the kernel drop what arrives: with MSG_TRUNC, TCP gives no
// byte to the caller, only their number (tcp(7)).
func (t *transfer) recvDiscard(c syscall.Conn, w discarder) error {
	t.way = WayDiscard
	src, err := c.SyscallConn()
	if err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	size := t.chunk(discardSize, discardSize, t.opt.ReceiveLimit)
	for {
		n, err := t.await(src, func(fd int) (int, error) {
			n, _, errno := unix.Syscall6(unix.SYS_RECVFROM, uintptr(fd), 0, uintptr(size), unix.MSG_TRUNC, 0, 0)
			if errno != 0 {
				return 0, errno
			}
			return int(n), nil
		})
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		if n == 0 {
			return nil
		}
		w.Discard(int64(n))
		if err := t.moved(n); err != nil {
			return err
		}
	}
}

// await does call as often as it takes to get past "not yet" and interrupts;
// Go's poller waits, and so its deadline holds. Out of the poller call has
// waited itself.
func (t *transfer) await(c syscall.RawConn, call func(fd int) (int, error)) (n int, err error) {
	perr := c.Read(func(fd uintptr) bool {
		for {
			n, err = call(int(fd))
			if err != unix.EINTR && (err != unix.EAGAIN || t.direct == nil) {
				return err != unix.EAGAIN
			}
		}
	})
	if perr != nil {
		return 0, perr
	}
	return n, err
}

// pipeSize is what an unprivileged process may ask for (pipe(7)).
const pipeSize = 1 << 20

// recvFile moves pages from the socket into the file by way of a pipe.
func (t *transfer) recvFile(c syscall.Conn, w filer) error {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return fmt.Errorf("receive: pipe: %w", err)
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	// A pipe of the usual 64 KiB serves where a user's pages for pipes are used up.
	_, _ = unix.FcntlInt(uintptr(p[1]), unix.F_SETPIPE_SZ, pipeSize)

	src, err := c.SyscallConn()
	if err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	dst, err := w.File().SyscallConn()
	if err != nil {
		return fmt.Errorf("write to the store: %w", err)
	}
	t.way = WaySplice
	var serr error
	if err := dst.Control(func(fd uintptr) { serr = t.splice(src, p, int(fd), w) }); err != nil {
		return fmt.Errorf("write to the store: %w", err)
	}
	return serr
}

func (t *transfer) splice(src syscall.RawConn, pipe [2]int, dst int, w filer) error {
	size := t.chunk(pipeSize, pipeSize, t.opt.ReceiveLimit)
	for {
		n, err := t.await(src, func(fd int) (int, error) {
			n, err := unix.Splice(fd, nil, pipe[1], nil, size, unix.SPLICE_F_MOVE|unix.SPLICE_F_NONBLOCK)
			return int(n), err
		})
		if err != nil {
			return fmt.Errorf("receive: splice: %w", err)
		}
		if n == 0 {
			return nil
		}
		if err := w.Grow(int64(n)); err != nil {
			return fmt.Errorf("write to the store: %w", err)
		}
		if err := drain(pipe[0], dst, n); err != nil {
			return fmt.Errorf("write to the store: %w", store.Classify(os.NewSyscallError("splice", err)))
		}
		if err := t.moved(n); err != nil {
			return err
		}
	}
}

// drain moves n bytes from the pipe into the file.
func drain(pipe, dst, n int) error {
	for n > 0 {
		m, err := unix.Splice(pipe, nil, dst, nil, n, unix.SPLICE_F_MOVE)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		default:
			n -= int(m)
		}
	}
	return nil
}
