package disk

import (
	"errors"
	"io/fs"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// Commit implements store.Writer. The file keeps the permissions of the one it
// replaces.
func (w *writer) Commit() error {
	if w.ended {
		return fail("commit", w.name, store.ErrEnded)
	}
	if err := w.complete(); err != nil {
		return errors.Join(fail("commit", w.name, err), w.Abort())
	}
	return nil
}

func (w *writer) complete() error {
	if err := w.settle(); err != nil {
		return err
	}
	old, err := w.s.root.Stat(w.target)
	if err == nil {
		if err := w.file.Chmod(old.Mode().Perm()); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	if w.s.sync {
		if err := w.file.Sync(); err != nil {
			return err
		}
	}
	// Renamed while the lock is held, so that no other session takes the part.
	if err := w.s.root.Rename(w.part, w.target); err != nil {
		return err
	}
	w.ended = true
	w.s.quota.Give(charged(old))
	return w.file.Close()
}

// Abort implements store.Writer: what has arrived stays for a resume. Only an
// upload beside another's of the same name goes, for that one's stays.
func (w *writer) Abort() error {
	if w.ended {
		return fail("abort", w.name, store.ErrEnded)
	}
	w.ended = true
	err := w.settle()
	if w.spare || w.size == 0 {
		err = errors.Join(err, w.s.root.Remove(w.part))
		w.s.quota.Give(w.size)
	}
	if err = errors.Join(err, w.file.Close()); err != nil {
		return fail("abort", w.name, err)
	}
	return nil
}

// settle corrects what the quota was charged to what the file holds, and gives
// back reserved space that wasn't used.
func (w *writer) settle() error {
	fi, err := w.file.Stat()
	if err != nil {
		return err
	}
	w.s.quota.Give(w.size - fi.Size())
	w.size = fi.Size()
	if !w.grown {
		return nil
	}
	// Cutting to the present size frees nothing; cutting from above does.
	return errors.Join(w.file.Truncate(w.size+1), w.file.Truncate(w.size))
}
