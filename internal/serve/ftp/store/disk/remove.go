package disk

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// Remove implements store.Store. Where only a broken-off upload is left of
// name, that goes.
func (s *Store) Remove(_ context.Context, name string) error {
	return s.change("remove", name, func(rel string) error {
		fi, err := s.root.Lstat(rel)
		if errors.Is(err, fs.ErrNotExist) {
			if part, perr := s.root.Lstat(partOf(rel)); perr == nil {
				rel, fi, err = partOf(rel), part, nil
			}
		}
		switch {
		case err != nil:
			return err
		case fi.IsDir():
			return store.ErrIsDirectory
		}
		if err := s.root.Remove(rel); err != nil {
			return err
		}
		s.quota.Give(charged(fi))
		return nil
	})
}

// charged returns the bytes of the quota that fi holds.
func charged(fi fs.FileInfo) int64 {
	if fi == nil || !fi.Mode().IsRegular() {
		return 0
	}
	return fi.Size()
}

// Rmdir implements store.Store. Broken-off uploads, which no client sees, don't
// keep a directory from being empty.
func (s *Store) Rmdir(_ context.Context, name string) error {
	return s.change("rmdir", name, func(rel string) error {
		fi, err := s.root.Lstat(rel)
		switch {
		case err != nil:
			return err
		case rel == ".":
			return fs.ErrPermission
		case !fi.IsDir():
			return store.ErrNotDirectory
		}
		err = s.root.Remove(rel)
		if errors.Is(store.Classify(err), store.ErrNotEmpty) && s.sweep(rel) == nil {
			err = s.root.Remove(rel)
		}
		return err
	})
}

// sweep removes the broken-off uploads in directory rel if nothing else is there.
func (s *Store) sweep(rel string) error {
	entries, err := fs.ReadDir(s.root.FS(), filepath.ToSlash(rel))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !hidden(e.Name()) {
			return store.ErrNotEmpty
		}
	}
	for _, e := range entries {
		part := filepath.Join(rel, e.Name())
		fi, err := s.root.Lstat(part)
		if err == nil {
			err = s.root.Remove(part)
		}
		if err != nil {
			return err
		}
		s.quota.Give(charged(fi))
	}
	return nil
}

// Rename implements store.Store.
func (s *Store) Rename(_ context.Context, from, to string) error {
	return s.change("rename", from, func(rel string) error {
		target, err := local(to)
		if err != nil {
			return err
		}
		old, _ := s.root.Lstat(target) // what it replaces, if anything
		if err := s.root.Rename(rel, target); err != nil {
			return err
		}
		if rel != target {
			s.quota.Give(charged(old))
		}
		return nil
	})
}
