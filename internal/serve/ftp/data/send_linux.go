package data

import (
	"fmt"
	"io"
	"iter"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// sendfileSize bounds one sendfile(2), so that progress shows; a call takes
// what fits into the send buffer anyway.
const sendfileSize = 16 << 20

// sendExtents sends ranges of files inside the kernel.
func (t *transfer) sendExtents(c *net.TCPConn, extents iter.Seq[store.Extent]) error {
	dst, err := c.SyscallConn()
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	for e := range extents {
		src, err := e.File.SyscallConn()
		if err != nil {
			return fmt.Errorf("read from the store: %w", err)
		}
		var serr error
		if err := src.Control(func(fd uintptr) { serr = t.sendfile(dst, int(fd), e) }); err != nil {
			return fmt.Errorf("read from the store: %w", err)
		}
		if serr != nil {
			return serr
		}
	}
	return nil
}

// sendfile sends one range out of src. Go's poller waits for the socket, and
// so its deadline still holds.
func (t *transfer) sendfile(dst syscall.RawConn, src int, e store.Extent) error {
	off, end := e.Offset, e.Offset+e.Length
	for off < end {
		var n int
		var serr error
		size := t.chunk(end-off, sendfileSize, t.opt.SendSize)
		err := dst.Write(func(fd uintptr) bool {
			for {
				n, serr = unix.Sendfile(int(fd), src, &off, size)
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
		case n == 0:
			return fmt.Errorf("read from the store: file ends %d bytes early: %w", end-off, io.ErrUnexpectedEOF)
		}
		if err := t.sent(n); err != nil {
			return err
		}
	}
	return nil
}

// yield gives up the processor, as a task of the field report's system does.
func yield() { unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
