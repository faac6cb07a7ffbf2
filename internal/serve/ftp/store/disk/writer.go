package disk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// writer writes an upload beside its target.
type writer struct {
	s      *Store
	name   string // as the client says it
	target string
	part   string
	file   *os.File
	size   int64 // bytes the quota was charged for
	spare  bool  // part is a name of its own because another session has the usual one
	grown  bool  // space was reserved
	ended  bool
}

// Create implements store.Store.
func (s *Store) Create(_ context.Context, name string, o store.CreateOptions) (store.Writer, error) {
	name = path.Clean("/" + name)
	if o.Unique {
		name += "." + rand.Text()[:8]
	}
	rel, err := local(name)
	if err != nil {
		return nil, fail("create", name, err)
	}
	w := &writer{s: s, name: name, target: rel}
	if err := w.open(o); err != nil {
		return nil, fail("create", name, err)
	}
	if err := w.begin(o); err != nil {
		return nil, errors.Join(fail("create", name, err), w.Abort())
	}
	return w, nil
}

// open opens the part. The target must be nothing or a file.
func (w *writer) open(o store.CreateOptions) error {
	fi, err := w.s.root.Stat(w.target)
	switch {
	case err == nil && fi.IsDir():
		return store.ErrIsDirectory
	case err == nil && !fi.Mode().IsRegular():
		return fs.ErrPermission
	case err == nil && o.Unique:
		return fs.ErrExist
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	w.part = partOf(w.target)
	for {
		w.file, err = w.s.root.OpenFile(w.part, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return err
		}
		if !lock(w.file) {
			break
		}
		// Between opening and locking, the session that had the lock may have
		// given the file its final name.
		mine, err := w.file.Stat()
		if err != nil {
			return errors.Join(err, w.file.Close())
		}
		if now, err := w.s.root.Lstat(w.part); err == nil && os.SameFile(mine, now) {
			w.size = mine.Size()
			return nil
		}
		w.file.Close()
	}
	w.file.Close()
	w.spare = true
	dir, base := filepath.Split(w.target)
	w.part = dir + partPrefix + base + "." + rand.Text()[:8] + partSuffix
	w.file, err = w.s.root.OpenFile(w.part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	return err
}

// begin brings the part to the length at which the upload goes on.
func (w *writer) begin(o store.CreateOptions) error {
	whole, err := w.s.root.Stat(w.target)
	if err != nil {
		whole = nil // open has seen that it is missing
	}
	keep := o.Offset
	fromPart := w.size >= keep
	if o.Append {
		if fromPart = whole == nil; fromPart {
			keep = w.size
		} else {
			keep = whole.Size()
		}
	}
	switch {
	case keep < 0:
		return store.ErrOffset
	case fromPart && !(w.spare && o.Append):
		err = w.cut(keep)
	case whole == nil && w.spare:
		return store.ErrBusy
	case whole == nil || whole.Size() < keep:
		return store.ErrOffset
	default:
		err = w.copyWhole(keep)
	}
	if err != nil {
		return err
	}
	if _, err := w.file.Seek(keep, io.SeekStart); err != nil {
		return err
	}
	return w.reserve(keep, o.Size)
}

// cut shortens the part to n bytes.
func (w *writer) cut(n int64) error {
	if err := w.file.Truncate(n); err != nil {
		return err
	}
	w.s.quota.Give(w.size - n)
	w.size = n
	return nil
}

// copyWhole fills the part with the first n bytes of the target, which readers
// may have open. The system shares the blocks where the file system can.
func (w *writer) copyWhole(n int64) error {
	if err := w.cut(0); err != nil {
		return err
	}
	if err := w.Grow(n); err != nil {
		return err
	}
	from, err := w.s.root.Open(w.target)
	if err != nil {
		return err
	}
	defer from.Close()
	m, err := io.CopyN(w.file, from, n)
	if err == io.EOF {
		return fmt.Errorf("only %d of %d bytes are left: %w", m, n, store.ErrOffset)
	}
	return err
}

// reserve sees to it that n more bytes fit.
func (w *writer) reserve(offset, n int64) error {
	if n <= 0 {
		return nil
	}
	if err := w.s.quota.Take(n); err != nil {
		return err
	}
	w.s.quota.Give(n) // each write takes its own
	w.grown = true
	return reserve(w.file, offset, n)
}

// Name implements store.Writer.
func (w *writer) Name() string { return path.Base(w.name) }

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if err := w.Grow(int64(len(p))); err != nil {
		return 0, fail("write", w.name, err)
	}
	n, err := w.file.Write(p)
	if err != nil {
		return n, fail("write", w.name, err)
	}
	return n, nil
}

// File returns the file at whose position the next bytes go, for splice.
func (w *writer) File() *os.File { return w.file }

// Grow charges the quota for n bytes about to be written to File.
func (w *writer) Grow(n int64) error {
	if w.ended {
		return store.ErrEnded
	}
	if err := w.s.quota.Take(n); err != nil {
		return err
	}
	w.size += n
	return nil
}
