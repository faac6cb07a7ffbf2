package memory

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// node is a directory or a file. A file without content is only the place of
// a broken-off upload.
type node struct {
	id       uint64
	mode     fs.FileMode
	mtime    time.Time
	children map[string]*node // of a directory
	content  *content
	partial  *content // of an upload that broke off
}

func (n *node) isDir() bool { return n.mode.IsDir() }

// size returns the size that Stat shows.
func (n *node) size() int64 {
	switch {
	case n.content != nil:
		return n.content.size
	case n.partial != nil:
		return n.partial.size
	}
	return 0
}

func (n *node) info(name string) store.Info {
	return store.Info{
		Name: name, Size: n.size(), Mode: n.mode, ModTime: n.mtime, Unique: uniqueOf(n.id),
		Partial: !n.isDir() && n.content == nil,
	}
}

// replace makes c the content; what was there stays with its readers.
func (n *node) replace(s *Store, c *content) {
	for _, old := range []*content{n.content, n.partial} {
		if old != nil {
			s.release(old)
		}
	}
	n.content, n.partial = c, nil
}

// find finds the node of name. The caller has the lock.
func (s *Store) find(name string) (*node, error) {
	n := s.root
	for elem := range strings.SplitSeq(path.Clean("/" + name)[1:], "/") {
		if elem == "" {
			continue
		}
		if !n.isDir() {
			return nil, store.ErrNotDirectory
		}
		if n = n.children[elem]; n == nil {
			return nil, fs.ErrNotExist
		}
	}
	return n, nil
}

// parent finds the directory of name and the last element.
func (s *Store) parent(name string) (dir *node, base string, err error) {
	name = path.Clean("/" + name)
	switch {
	case name == "/":
		return nil, "", fs.ErrPermission
	case strings.ContainsRune(name, 0):
		return nil, "", store.ErrName
	}
	dir, err = s.find(path.Dir(name))
	if err == nil && !dir.isDir() {
		err = store.ErrNotDirectory
	}
	return dir, path.Base(name), err
}

// file finds or makes the file name.
func (s *Store) file(name string) (*node, error) {
	dir, base, err := s.parent(name)
	if err != nil {
		return nil, fail("write", name, err)
	}
	n := dir.children[base]
	if n == nil {
		n = s.newNode(0o644)
		dir.children[base] = n
	}
	if n.isDir() {
		return nil, fail("write", name, store.ErrIsDirectory)
	}
	return n, nil
}

// prune takes name away if it holds nothing.
func (s *Store) prune(name string) {
	if dir, base, err := s.parent(name); err == nil {
		if n := dir.children[base]; n != nil && !n.isDir() && n.content == nil && n.partial == nil {
			delete(dir.children, base)
		}
	}
}

// forget lets the broken-off uploads below n go.
func (s *Store) forget(n *node) {
	for name, child := range n.children {
		s.forget(child)
		if child.partial != nil {
			s.release(child.partial)
			child.partial = nil
			if child.content == nil {
				delete(n.children, name)
			}
		}
	}
}

// clear lets everything below n go.
func (s *Store) clear(n *node) {
	for _, child := range n.children {
		s.clear(child)
		child.replace(s, nil)
	}
	n.children = map[string]*node{}
}

// Stat implements store.Store.
func (s *Store) Stat(_ context.Context, name string) (store.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.find(name)
	if err != nil {
		return store.Info{}, fail("stat", name, err)
	}
	return n.info(path.Base(path.Clean("/" + name))), nil
}

// List implements store.Store.
func (s *Store) List(_ context.Context, name string) ([]store.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.find(name)
	if err != nil {
		return nil, fail("list", name, err)
	}
	if !n.isDir() {
		return nil, fail("list", name, store.ErrNotDirectory)
	}
	list := make([]store.Info, 0, len(n.children))
	for base, child := range n.children {
		if i := child.info(base); !i.Partial {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b store.Info) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}
