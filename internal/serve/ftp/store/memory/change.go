package memory

import (
	"context"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// change does what do says in the directory of name. The lock is held.
func (s *Store) change(op, name string, do func(dir *node, base string) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, base, err := s.parent(name)
	if err == nil {
		err = do(dir, base)
	}
	if err != nil {
		return fail(op, name, err)
	}
	return nil
}

// Mkdir implements store.Store.
func (s *Store) Mkdir(_ context.Context, name string) error {
	return s.change("mkdir", name, func(dir *node, base string) error {
		if dir.children[base] != nil {
			return fs.ErrExist
		}
		dir.children[base] = s.newNode(fs.ModeDir | 0o755)
		return nil
	})
}

// Remove implements store.Store.
func (s *Store) Remove(_ context.Context, name string) error {
	return s.change("remove", name, func(dir *node, base string) error {
		n := dir.children[base]
		switch {
		case n == nil:
			return fs.ErrNotExist
		case n.isDir():
			return store.ErrIsDirectory
		}
		n.replace(s, nil)
		delete(dir.children, base)
		return nil
	})
}

// Rmdir implements store.Store.
func (s *Store) Rmdir(_ context.Context, name string) error {
	return s.change("rmdir", name, func(dir *node, base string) error {
		n := dir.children[base]
		switch {
		case n == nil:
			return fs.ErrNotExist
		case !n.isDir():
			return store.ErrNotDirectory
		}
		for _, child := range n.children {
			if child.isDir() || child.content != nil {
				return store.ErrNotEmpty
			}
		}
		s.clear(n)
		delete(dir.children, base)
		return nil
	})
}

// Rename implements store.Store. A file is replaced, a directory isn't.
func (s *Store) Rename(_ context.Context, from, to string) error {
	return s.change("rename", from, func(dir *node, base string) error {
		n := dir.children[base]
		if n == nil || !n.isDir() && n.content == nil {
			return fs.ErrNotExist
		}
		if n.isDir() && strings.HasPrefix(path.Clean("/"+to)+"/", path.Clean("/"+from)+"/") {
			return fs.ErrPermission // a directory into itself
		}
		target, last, err := s.parent(to)
		if err != nil {
			return err
		}
		if old := target.children[last]; old != nil && old != n {
			if old.isDir() || n.isDir() {
				return fs.ErrExist
			}
			old.replace(s, nil)
		}
		delete(dir.children, base)
		target.children[last] = n
		return nil
	})
}

// Chmod implements store.Store.
func (s *Store) Chmod(_ context.Context, name string, mode fs.FileMode) error {
	return s.change("chmod", name, func(dir *node, base string) error {
		n := dir.children[base]
		if n == nil {
			return fs.ErrNotExist
		}
		n.mode = n.mode&^fs.ModePerm | mode.Perm()
		return nil
	})
}

// Chtimes implements store.Store.
func (s *Store) Chtimes(_ context.Context, name string, mtime time.Time) error {
	return s.change("set time", name, func(dir *node, base string) error {
		n := dir.children[base]
		if n == nil {
			return fs.ErrNotExist
		}
		n.mtime = mtime
		return nil
	})
}
