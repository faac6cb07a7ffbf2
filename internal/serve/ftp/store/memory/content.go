package memory

import (
	"io"
	"iter"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// content is a file's bytes in runs of the arena. Names and readers hold it;
// the store's lock guards the count of holders.
type content struct {
	arena   *arena
	runs    []run
	size    int64
	holders int
}

// truncate gives the memory behind the first n bytes back.
func (c *content) truncate(n int64) {
	var at int64
	for i, r := range c.runs {
		if keep := n - at; keep < int64(r.len) {
			keep = (max(keep, 0) + blockSize - 1) / blockSize * blockSize
			c.runs[i].len = int(keep)
			c.arena.give(run{r.off + int(keep), r.len - int(keep)})
		}
		at += int64(r.len)
	}
	for len(c.runs) > 0 && c.runs[len(c.runs)-1].len == 0 {
		c.runs = c.runs[:len(c.runs)-1]
	}
	c.size = min(c.size, n)
}

// pieces yields the parts of the arena that hold the bytes from offset on.
func (c *content) pieces(offset int64) iter.Seq[run] {
	return func(yield func(run) bool) {
		var at int64
		for _, r := range c.runs {
			n := min(int64(r.len), c.size-at)
			if skip := max(offset-at, 0); skip < n && !yield(run{r.off + int(skip), int(n - skip)}) {
				return
			}
			at += int64(r.len)
		}
	}
}

// reader reads a content from an offset on.
type reader struct {
	s      *Store
	c      *content
	offset int64
	closed bool
}

func (r *reader) Size() int64 { return r.c.size }

// Read implements io.Reader.
func (r *reader) Read(p []byte) (n int, err error) {
	if r.closed {
		return 0, io.ErrClosedPipe
	}
	for piece := range r.c.pieces(r.offset) {
		m := copy(p[n:], r.c.arena.bytes(piece))
		n += m
		r.offset += int64(m)
		if n == len(p) {
			return n, nil
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// WriteTo implements io.WriterTo: w gets the memory itself, not a copy.
func (r *reader) WriteTo(w io.Writer) (n int64, err error) {
	for piece := range r.c.pieces(r.offset) {
		m, err := w.Write(r.c.arena.bytes(piece))
		n += int64(m)
		r.offset += int64(m)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Extents lets the content go out by sendfile; nil where memory isn't a file.
func (r *reader) Extents() iter.Seq[store.Extent] {
	file := r.c.arena.file
	if file == nil {
		return nil
	}
	return func(yield func(store.Extent) bool) {
		var e store.Extent // grows while pieces adjoin
		for piece := range r.c.pieces(r.offset) {
			off, n := int64(piece.off), int64(piece.len)
			if e.Length > 0 && e.Offset+e.Length == off {
				e.Length += n
				continue
			}
			if e.Length > 0 && !yield(e) {
				return
			}
			e = store.Extent{File: file, Offset: off, Length: n}
		}
		if e.Length > 0 {
			yield(e)
		}
	}
}

// Close implements io.Closer.
func (r *reader) Close() error {
	if !r.closed {
		r.closed = true
		r.s.drop(r.c)
	}
	return nil
}
