//go:build !linux

package data

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"runtime"
	"syscall"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// sendExtents sends ranges of files; ReadFrom does so inside the kernel where
// that can (TransmitFile, sendfile).
func (t *transfer) sendExtents(s syscall.Conn, extents iter.Seq[store.Extent]) error {
	c, ok := s.(*net.TCPConn)
	if !ok {
		return fmt.Errorf("send: %T: %w", s, errors.ErrUnsupported)
	}
	for e := range extents {
		if _, err := e.File.Seek(e.Offset, io.SeekStart); err != nil {
			return fmt.Errorf("read from the store: %w", err)
		}
		for left := e.Length; left > 0; {
			n, err := c.ReadFrom(io.LimitReader(e.File, int64(t.chunk(left, 4<<20, t.opt.SendSize))))
			if err == nil && n == 0 {
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				return fmt.Errorf("send: %w", err)
			}
			left -= n
			if err := t.sent(int(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

func yield() { runtime.Gosched() }
