package memory

import (
	"fmt"
	"path"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// writer fills a content that no name has yet.
type writer struct {
	s     *Store
	name  string
	c     *content
	last  run // where the next bytes go: what is free of the last run
	ended bool
}

// Name implements store.Writer.
func (w *writer) Name() string { return path.Base(w.name) }

// Next returns memory to receive into, mapped and never empty; Advance says
// how much of it was filled.
func (w *writer) Next() ([]byte, error) {
	if w.ended {
		return nil, store.ErrEnded
	}
	if w.last.len == 0 {
		r, ok := w.s.take(runSize)
		if !ok {
			return nil, fmt.Errorf("write: %s: budget of %d bytes used up: %w", w.name, len(w.c.arena.mem), store.ErrNoSpace)
		}
		w.c.runs = append(w.c.runs, r)
		w.last = r
	}
	return w.c.arena.bytes(w.last), nil
}

// Advance takes the first n bytes of what Next returned as written.
func (w *writer) Advance(n int) {
	w.c.size += int64(n)
	w.last.off += n
	w.last.len -= n
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (n int, err error) {
	for n < len(p) {
		b, err := w.Next()
		if err != nil {
			return n, err
		}
		m := copy(b, p[n:])
		w.Advance(m)
		n += m
	}
	return n, nil
}

// resume goes on behind the first n bytes of c, which is w's now.
func (w *writer) resume(c *content, n int64) {
	c.truncate(n)
	w.c = c
	if tail := int(n % blockSize); tail > 0 {
		end := c.runs[len(c.runs)-1]
		w.last = run{end.off + end.len - blockSize + tail, blockSize - tail}
	}
}

// Commit implements store.Writer.
func (w *writer) Commit() error { return w.end(func(n *node) { n.replace(w.s, w.c) }) }

// Abort implements store.Writer: what has arrived stays for a resume until
// memory runs short.
func (w *writer) Abort() error {
	return w.end(func(n *node) {
		if w.c.size == 0 {
			w.s.release(w.c)
			return
		}
		if n.partial != nil {
			w.s.release(n.partial)
		}
		n.partial = w.c
	})
}

// end gives the content to the file's node.
func (w *writer) end(give func(*node)) error {
	if w.ended {
		return fmt.Errorf("end: %s: %w", w.name, store.ErrEnded)
	}
	w.ended = true
	w.c.truncate(w.c.size)
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	n, err := w.s.file(w.name)
	if err != nil {
		w.s.release(w.c)
		return err
	}
	give(n)
	n.mtime = time.Now()
	w.s.prune(w.name)
	if w.s.over { // nobody can ask for it any more
		w.s.clear(w.s.root)
		w.s.unmap()
	}
	return nil
}
