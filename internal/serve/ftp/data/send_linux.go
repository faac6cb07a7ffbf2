package data

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// sendfileSize bounds one sendfile(2), so that progress shows. Out of the
// poller, where acknowledgements show it, what bounds it is what one call can
// take.
const sendfileSize, sendfileMost = 16 << 20, 1 << 30

// sendExtents sends ranges of files inside the kernel.
func (t *transfer) sendExtents(c syscall.Conn, extents iter.Seq[store.Extent]) error {
	dst, err := c.SyscallConn()
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	most := int64(sendfileMost)
	if !t.watchAcknowledged() {
		most = sendfileSize
		undo, err := patient(dst)
		if err != nil {
			return fmt.Errorf("send: %w", err)
		}
		defer undo()
	}
	for e := range extents {
		src, err := e.File.SyscallConn()
		if err != nil {
			return fmt.Errorf("read from the store: %w", err)
		}
		var serr error
		if err := src.Control(func(fd uintptr) { serr = t.sendfile(dst, int(fd), e, most) }); err != nil {
			return fmt.Errorf("read from the store: %w", err)
		}
		if serr != nil {
			return serr
		}
	}
	return nil
}

// watchAcknowledged has look see how far a transfer out of the poller has come;
// false says that it is in there.
func (t *transfer) watchAcknowledged() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.direct == nil {
		return false
	}
	t.before = t.direct.acknowledged()
	return true
}

// sendfile sends one range out of src. What isn't sent at once goes through
// Go's poller, and so its deadline still holds.
func (t *transfer) sendfile(dst syscall.RawConn, src int, e store.Extent, most int64) error {
	off, end := e.Offset, e.Offset+e.Length
	for off < end {
		var n int
		var serr error
		size := t.chunk(end-off, most, t.opt.SendSize)
		err := dst.Write(func(fd uintptr) bool {
			for {
				n, serr = unix.Sendfile(int(fd), src, &off, size)
				if serr == unix.EAGAIN && t.way == WayKernelTLS {
					serr = uncork(int(fd))
					return true
				}
				if serr != unix.EINTR {
					return serr != unix.EAGAIN
				}
			}
		})
		switch {
		case err != nil:
			return fmt.Errorf("send: %w", err)
		case serr != nil:
			return fmt.Errorf("send: sendfile: %w", serr)
		case n < 0 && t.way == WayKernelTLS:
			continue // it has waited in the kernel
		case n == 0:
			return fmt.Errorf("read from the store: file ends %d bytes early: %w", end-off, io.ErrUnexpectedEOF)
		}
		if err := t.sent(n); err != nil {
			return err
		}
	}
	return nil
}

// patience is how long a send waits in the kernel before Go's poller does. On a
// fast link the wait is over sooner, and costs less there than a round through
// the poller; on a slow one the poller saves the thread.
const patience = 5 * time.Millisecond

// patient makes sends on c wait in the kernel first; undo takes it back.
func patient(c syscall.RawConn) (undo func(), err error) {
	wait := unix.NsecToTimeval(patience.Nanoseconds())
	cerr := c.Control(func(fd uintptr) {
		if err = unix.SetsockoptTimeval(int(fd), unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait); err == nil {
			err = unix.SetNonblock(int(fd), false)
		}
	})
	if err = cmp.Or(cerr, err); err != nil {
		return nil, err
	}
	return func() {
		// Fails only for a connection that is closed.
		_ = c.Control(func(fd uintptr) { _ = unix.SetNonblock(int(fd), true) })
	}, nil
}

// yield gives up the processor, as a task of the field report's system does.
func yield() { unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
