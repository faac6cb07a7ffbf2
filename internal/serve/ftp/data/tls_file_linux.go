package data

import (
	"fmt"
	"io"
	"iter"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// sendSealed sends ranges of files in records of our own: each is read to where
// it is encrypted and then sent from. done is false, and nothing was sent,
// where crypto/tls makes the records.
func (t *transfer) sendSealed(c *TLSConn, extents iter.Seq[store.Extent]) (done bool, err error) {
	if t.opt.SendSize > 0 || t.opt.Limit != nil {
		return false, nil
	}
	if _, err := c.Write(nil); err != nil { // takes over
		return true, fmt.Errorf("send: %w", err)
	}
	if !c.gather.ours() {
		return false, nil
	}
	for e := range extents {
		src, err := e.File.SyscallConn()
		if err != nil {
			return true, fmt.Errorf("read from the store: %w", err)
		}
		var serr error
		if err := src.Control(func(fd uintptr) { serr = t.sealRange(c.gather, int(fd), e) }); err != nil {
			return true, fmt.Errorf("read from the store: %w", err)
		}
		if serr != nil {
			return true, serr
		}
	}
	return true, nil
}

func (t *transfer) sealRange(g *gather, fd int, e store.Extent) error {
	for at := int64(0); at < e.Length; {
		n, rerr, err := g.sealFrom(fd, e.Offset+at, e.Length-at)
		switch {
		case rerr != nil:
			return fmt.Errorf("read from the store: %w", store.Classify(rerr))
		case err != nil:
			return fmt.Errorf("send: %w", err)
		case n == 0:
			return fmt.Errorf("read from the store: file ends %d bytes early: %w", e.Length-at, io.ErrUnexpectedEOF)
		}
		at += int64(n)
		if err := t.sent(n); err != nil {
			return err
		}
	}
	return nil
}

// sealFrom gathers records of up to most bytes at offset of a file, as many as
// one write takes. rerr is that of reading.
func (g *gather) sealFrom(fd int, offset, most int64) (n int, rerr, err error) {
	g.wmu.Lock()
	defer g.wmu.Unlock()
	if err := g.room(maxContent); err != nil {
		return 0, nil, err
	}
	var parts [gatherSize/maxContent + 1][]byte
	into := parts[:0]
	for at := len(g.w); most > 0 && at+maxContent+recordOverhead <= gatherSize; at += maxContent + recordOverhead {
		size := int(min(most, maxContent))
		into = append(into, g.wb[at+recordHeader:][:size])
		most -= int64(size)
	}
	for {
		if n, rerr = unix.Preadv(fd, into, offset); rerr != unix.EINTR {
			break
		}
	}
	for left := n; left > 0; {
		size := min(left, maxContent)
		g.w = g.out.sealInPlace(g.w, typeApplication, size)
		left -= size
	}
	return max(n, 0), rerr, nil
}
