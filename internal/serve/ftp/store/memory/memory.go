// Package memory is a store of files in the host's memory, within a budget.
// Uploads are received straight into its pages and downloads go out of them by
// sendfile.
package memory

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"sync"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// Options of a Store.
type Options struct {
	// Budget is the most memory that contents take, in bytes; it is rounded to
	// blocks of 64 KiB, of which each file takes at least one.
	Budget int64
	// Populate makes the kernel find all memory of the budget in the
	// background, so that the first uploads are as fast as later ones.
	Populate bool
}

// Store keeps files in memory.
type Store struct {
	arena  *arena
	closed chan struct{}

	mu   sync.Mutex
	root *node
	ids  uint64
	open int  // contents held
	over bool // Close was called
}

var _ store.Store = (*Store)(nil)

// New returns an empty Store.
func New(o Options) (*Store, error) {
	a, err := newArena(o.Budget)
	if err != nil {
		return nil, fmt.Errorf("memory store: %w", err)
	}
	s := &Store{arena: a, closed: make(chan struct{})}
	s.root = s.newNode(fs.ModeDir | 0o755)
	if o.Populate {
		s.open++ // the arena stays mapped meanwhile
		go s.populate()
	}
	return s, nil
}

// populate works in steps, so that it holds up neither uploads nor Close.
func (s *Store) populate() {
	defer s.drop(nil)
	const step = 16 << 20
	for off := 0; off < len(s.arena.mem); off += step {
		select {
		case <-s.closed:
			return
		default:
		}
		if populate(s.arena.mem[off:min(off+step, len(s.arena.mem))]) != nil {
			return // uploads find their pages themselves
		}
	}
}

// hold counts a holder of c. The caller has the lock.
func (s *Store) hold(c *content) *content {
	if c.holders++; c.holders == 1 {
		s.open++
	}
	return c
}

// release takes a holder of c away. The caller has the lock.
func (s *Store) release(c *content) {
	if c != nil {
		if c.holders--; c.holders > 0 {
			return
		}
		c.truncate(0)
	}
	s.open--
	s.unmap()
}

func (s *Store) drop(c *content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(c)
}

// unmap ends the arena once the store is closed and nothing holds a content.
func (s *Store) unmap() {
	if !s.over || s.open > 0 || s.arena.mem == nil {
		return
	}
	_ = unmap(s.arena.mem) // fails for no mapping of ours
	s.arena.mem = nil
	if s.arena.file != nil {
		s.arena.file.Close()
	}
}

// take takes memory; where none is left it lets broken-off uploads go first.
func (s *Store) take(most int) (run, bool) {
	r, ok := s.arena.take(most)
	if !ok {
		s.mu.Lock()
		s.forget(s.root)
		s.mu.Unlock()
		r, ok = s.arena.take(most)
	}
	return r, ok
}

// Close implements store.Store. The contents go once no reader has them.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	close(s.closed)
	s.over = true
	s.clear(s.root)
	s.unmap()
	return nil
}

// Open implements store.Store.
func (s *Store) Open(_ context.Context, name string, offset int64) (store.Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.find(name)
	switch {
	case err != nil:
		return nil, fail("open", name, err)
	case n.isDir():
		return nil, fail("open", name, store.ErrIsDirectory)
	case n.content == nil: // only a broken-off upload
		return nil, fail("open", name, fs.ErrNotExist)
	case offset < 0 || offset > n.content.size:
		return nil, fail("open", name, store.ErrOffset)
	}
	return &reader{s: s, c: s.hold(n.content), offset: offset}, nil
}

// Create implements store.Store.
func (s *Store) Create(_ context.Context, name string, o store.CreateOptions) (store.Writer, error) {
	name = path.Clean("/" + name)
	if o.Unique {
		name += "." + rand.Text()[:8]
	}
	w := &writer{s: s, name: name}
	from, keep, err := s.begin(w, o)
	if err != nil {
		return nil, fail("create", name, err)
	}
	if from == nil {
		return w, nil
	}
	defer s.drop(from)
	for piece := range from.pieces(0) {
		b := s.arena.bytes(piece)
		b = b[:min(int64(len(b)), keep-w.c.size)]
		if _, err := w.Write(b); err != nil {
			return nil, errors.Join(fail("create", name, err), w.Abort())
		}
	}
	return w, nil
}

// begin finds what w goes on behind: a broken-off upload is w's from now on,
// the first keep bytes of a whole file, held for the caller, are to be copied.
func (s *Store) begin(w *writer, o store.CreateOptions) (from *content, keep int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Size > 0 && o.Size > s.arena.room() {
		return nil, 0, fmt.Errorf("%d bytes announced, %d are free: %w", o.Size, s.arena.room(), store.ErrNoSpace)
	}
	if w.name == "/" {
		return nil, 0, store.ErrIsDirectory
	}
	dir, base, err := s.parent(w.name)
	if err != nil {
		return nil, 0, err
	}
	n := dir.children[base]
	if n != nil && n.isDir() {
		return nil, 0, store.ErrIsDirectory
	}
	w.c = s.hold(&content{arena: s.arena})
	keep = o.Offset
	if n == nil {
		n = &node{}
	}
	if o.Append {
		keep = n.size()
	}
	fromPart := n.partial != nil && n.partial.size >= keep && !(o.Append && n.content != nil)
	switch {
	case keep == 0:
		return nil, 0, nil
	case fromPart:
		part := n.partial
		n.partial = nil
		s.release(w.c)
		w.resume(part, keep)
		return nil, 0, nil
	case keep < 0 || n.content == nil || n.content.size < keep:
		s.release(w.c)
		return nil, 0, store.ErrOffset
	}
	return s.hold(n.content), keep, nil
}

func fail(op, name string, err error) error { return fmt.Errorf("%s: %s: %w", op, name, err) }

func uniqueOf(id uint64) string { return strconv.FormatUint(id, 16) }

func (s *Store) newNode(mode fs.FileMode) *node {
	s.ids++
	n := &node{id: s.ids, mode: mode, mtime: time.Now()}
	if mode.IsDir() {
		n.children = map[string]*node{}
	}
	return n
}
