package data

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sync"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// extender is a reader whose content is ranges of files. A nil sequence says
// that it isn't, here and now.
type extender interface {
	Extents() iter.Seq[store.Extent]
}

// send picks the way out.
func (t *transfer) send(r io.Reader) error {
	if err := t.tune(false); err != nil {
		return err
	}
	extents := extentsOf(r)
	if extents == nil || t.opt.Copy {
		t.detach()
		return t.sendRead(r)
	}
	if c, ok := t.conn.(*TLSConn); ok {
		if tcp, err := c.toKernel(); err == nil {
			t.way = WayKernelTLS
			err := t.sendExtents(tcp, extents)
			c.gather.kernel.payload = t.bytes.Load()
			return err
		}
	}
	t.detach()
	if c, ok := t.socket(); ok {
		t.way = WaySendfile
		return t.sendExtents(c, extents)
	}
	if c, ok := t.conn.(*TLSConn); ok && !lends(r) {
		if done, err := t.sendSealed(c, extents); done {
			return err
		}
	}
	if c, ok := t.conn.(io.ReaderFrom); ok && t.opt.SendSize == 0 && t.opt.Limit == nil {
		t.way = WayLent
		return t.sendSections(c, extents)
	}
	return t.sendRead(r)
}

// sendRead sends what has to be read first.
func (t *transfer) sendRead(r io.Reader) error {
	if lends(r) && !t.opt.Copy {
		t.way = WayMapped
		_, err := r.(io.WriterTo).WriteTo(sender{t})
		return err
	}
	return t.sendCopy(r)
}

// lends reports whether r gives its own memory.
func lends(r io.Reader) bool {
	_, lent := r.(io.WriterTo)
	_, file := r.(*os.File)
	return lent && !file
}

// sectionSize bounds what a connection reads at once, so that who watches sees
// it move.
const sectionSize = 1 << 20

// sendSections lets the connection read the files itself.
func (t *transfer) sendSections(c io.ReaderFrom, extents iter.Seq[store.Extent]) error {
	for e := range extents {
		for at := int64(0); at < e.Length; {
			n, err := c.ReadFrom(io.NewSectionReader(e.File, e.Offset+at, min(sectionSize, e.Length-at)))
			at += n
			if err == nil && n == 0 {
				err = io.ErrUnexpectedEOF // the file became shorter
			}
			if err = errors.Join(err, t.sent(int(n))); err != nil {
				return fmt.Errorf("send: %w", err)
			}
		}
	}
	return nil
}

// extentsOf returns the ranges of files that r reads; nil if it doesn't.
func extentsOf(r io.Reader) iter.Seq[store.Extent] {
	switch r := r.(type) {
	case extender:
		return r.Extents()
	case *os.File:
		fi, err := r.Stat()
		if err != nil || !fi.Mode().IsRegular() {
			return nil
		}
		at, err := r.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil
		}
		return func(yield func(store.Extent) bool) {
			yield(store.Extent{File: r, Offset: at, Length: max(fi.Size()-at, 0)})
		}
	}
	return nil
}

// sender is the connection as a writer that counts and heeds the knobs.
type sender struct{ t *transfer }

func (s sender) Write(p []byte) (n int, err error) {
	for n < len(p) {
		size := s.t.chunk(int64(len(p)-n), copySize, s.t.opt.SendSize)
		m, err := s.t.conn.Write(p[n : n+size])
		n += m
		if err = errors.Join(err, s.t.sent(m)); err != nil {
			return n, fmt.Errorf("send: %w", err)
		}
	}
	return n, nil
}

// sent does what follows every send.
func (t *transfer) sent(n int) error {
	if t.opt.SendSize > 0 || t.opt.Limit != nil {
		// What a knob or a rate cuts up must not be gathered again.
		if f, ok := t.conn.(interface{ Flush() error }); ok {
			if err := f.Flush(); err != nil {
				return err
			}
		}
	}
	if t.opt.Yield {
		yield()
	}
	return t.moved(n)
}

const copySize = 64 << 10 // of buffers, in bytes

var buffers = sync.Pool{New: func() any { return new([copySize]byte) }}

// sendCopy reads into a buffer and writes that.
func (t *transfer) sendCopy(r io.Reader) error {
	p := buffers.Get().(*[copySize]byte)
	defer buffers.Put(p)
	b := p[:t.chunk(copySize, copySize, t.opt.SendSize)]
	for {
		n, err := r.Read(b)
		if n > 0 {
			if _, err := (sender{t}).Write(b[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read from the store: %w", store.Classify(err))
		}
	}
}
