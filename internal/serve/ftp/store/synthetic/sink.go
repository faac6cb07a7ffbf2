package synthetic

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// Sink is a store that remembers of an upload only its size and time. What is
// put into its directory "sha256" is hashed as well.
type Sink struct {
	mu    sync.Mutex
	start time.Time
	seen  []store.Info // the latest uploads, oldest first, Name in full
}

// remembered bounds what Sink lists.
const remembered = 1000

const hashDir = "/sha256"

// NewSink returns an empty Sink.
func NewSink() *Sink { return &Sink{start: time.Now()} }

var _ store.Store = (*Sink)(nil)

func isDir(name string) bool { return name == "/" || name == hashDir }

// find returns where name is in seen; -1 where it isn't. The caller has the lock.
func (s *Sink) find(name string) int {
	return slices.IndexFunc(s.seen, func(i store.Info) bool { return i.Name == name })
}

// Stat implements store.Store.
func (s *Sink) Stat(_ context.Context, name string) (store.Info, error) {
	name = path.Clean("/" + name)
	if isDir(name) {
		return store.Info{Name: path.Base(name), Mode: fs.ModeDir | 0o777, ModTime: s.start}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(name)
	if i < 0 {
		return store.Info{}, fmt.Errorf("stat: %s: %w", name, fs.ErrNotExist)
	}
	return shown(s.seen[i]), nil
}

func shown(i store.Info) store.Info {
	i.Name = path.Base(i.Name)
	return i
}

// List implements store.Store.
func (s *Sink) List(ctx context.Context, name string) ([]store.Info, error) {
	name = path.Clean("/" + name)
	if !isDir(name) {
		return nil, fmt.Errorf("list: %s: %w", name, store.ErrNotDirectory)
	}
	var list []store.Info
	if name == "/" {
		dir, err := s.Stat(ctx, hashDir)
		if err != nil {
			return nil, err
		}
		list = append(list, dir)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.seen {
		if path.Dir(i.Name) == name {
			list = append(list, shown(i))
		}
	}
	slices.SortFunc(list, func(a, b store.Info) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Open implements store.Store: what was dropped can't be read.
func (s *Sink) Open(ctx context.Context, name string, _ int64) (store.Reader, error) {
	i, err := s.Stat(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case i.IsDir():
		return nil, fmt.Errorf("open: %s: %w", name, store.ErrIsDirectory)
	}
	return nil, fmt.Errorf("open: %s: the sink keeps no content: %w", name, fs.ErrPermission)
}

// Create implements store.Store. A resume goes on counting.
func (s *Sink) Create(_ context.Context, name string, o store.CreateOptions) (store.Writer, error) {
	name = path.Clean("/" + name)
	if o.Unique {
		name += "." + rand.Text()[:8]
	}
	switch dir := path.Dir(name); {
	case isDir(name):
		return nil, fmt.Errorf("create: %s: %w", name, store.ErrIsDirectory)
	case !isDir(dir):
		return nil, fmt.Errorf("create: %s: the sink has no directory %s: %w", name, dir, fs.ErrNotExist)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var had int64
	if i := s.find(name); i >= 0 {
		had = s.seen[i].Size
	}
	if o.Append {
		o.Offset = had
	}
	if o.Offset < 0 || o.Offset > had {
		return nil, fmt.Errorf("create: %s: %w", name, store.ErrOffset)
	}
	w := counter{sink: s, name: name, size: o.Offset}
	if path.Dir(name) == hashDir && o.Offset == 0 {
		return &hasher{w, sha256.New()}, nil
	}
	return &dropper{w}, nil
}

// Remove implements store.Store: it forgets the upload.
func (s *Sink) Remove(ctx context.Context, name string) error {
	if i, err := s.Stat(ctx, name); err != nil {
		return err
	} else if i.IsDir() {
		return fmt.Errorf("remove: %s: %w", name, store.ErrIsDirectory)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name = path.Clean("/" + name)
	s.seen = slices.DeleteFunc(s.seen, func(i store.Info) bool { return i.Name == name })
	return nil
}

// Chtimes implements store.Store; clients set the time of what they uploaded.
func (s *Sink) Chtimes(_ context.Context, name string, mtime time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(path.Clean("/" + name))
	if i < 0 {
		return fmt.Errorf("set time: %s: %w", name, fs.ErrNotExist)
	}
	s.seen[i].ModTime = mtime
	return nil
}

func refuse(op, name string) error {
	return fmt.Errorf("%s: %s: not in the sink: %w", op, name, fs.ErrPermission)
}

// Mkdir implements store.Store.
func (s *Sink) Mkdir(_ context.Context, name string) error { return refuse("mkdir", name) }

// Rmdir implements store.Store.
func (s *Sink) Rmdir(_ context.Context, name string) error { return refuse("rmdir", name) }

// Rename implements store.Store.
func (s *Sink) Rename(_ context.Context, from, _ string) error { return refuse("rename", from) }

// Chmod implements store.Store.
func (s *Sink) Chmod(_ context.Context, name string, _ fs.FileMode) error {
	return refuse("chmod", name)
}

// Close implements store.Store.
func (s *Sink) Close() error { return nil }

// counter is an upload being counted.
type counter struct {
	sink  *Sink
	name  string
	size  int64
	ended bool
}

func (w *counter) Name() string { return path.Base(w.name) }

// Write implements io.Writer.
func (w *counter) Write(p []byte) (int, error) {
	if w.ended {
		return 0, store.ErrEnded
	}
	w.size += int64(len(p))
	return len(p), nil
}

// Commit implements store.Writer.
func (w *counter) Commit() error { return w.note(nil, false) }

// Abort implements store.Writer.
func (w *counter) Abort() error { return w.note(nil, true) }

func (w *counter) note(sum []byte, partial bool) error {
	if w.ended {
		return fmt.Errorf("end: %s: %w", w.name, store.ErrEnded)
	}
	w.ended = true
	s := w.sink
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = slices.DeleteFunc(s.seen, func(i store.Info) bool { return i.Name == w.name })
	if len(s.seen) == remembered {
		s.seen = slices.Delete(s.seen, 0, 1)
	}
	s.seen = append(s.seen, store.Info{Name: w.name, Size: w.size, Mode: 0o222, ModTime: time.Now(), Partial: partial, SHA256: sum})
	return nil
}

// dropper lets the kernel drop the bytes.
type dropper struct{ counter }

// Discard counts n bytes that were dropped.
func (w *dropper) Discard(n int64) { w.size += n }

// hasher looks at each byte.
type hasher struct {
	counter
	hash.Hash
}

// Write implements io.Writer.
func (w *hasher) Write(p []byte) (int, error) {
	w.Hash.Write(p) // never fails (package hash)
	return w.counter.Write(p)
}

// Commit implements store.Writer.
func (w *hasher) Commit() error { return w.note(w.Sum(nil), false) }
