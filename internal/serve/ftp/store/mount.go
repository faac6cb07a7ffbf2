package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Mount returns base with other stores in directories at its top: mounts maps
// their names, without slashes. They hide what base has of that name. Unless
// listed, who knows their names finds them, but no listing shows them: a mirror
// of a directory of files must not pick up generated ones.
func Mount(base Store, mounts map[string]Store, listed bool) Store {
	return &mount{base, mounts, listed}
}

type mount struct {
	base   Store
	mounts map[string]Store
	listed bool
}

// at finds the store of name and its name there; top says that it is a mount
// point, which can't be changed.
func (m *mount) at(name string) (s Store, rest string, top bool) {
	name = path.Clean("/" + name)
	first, below, deeper := strings.Cut(name[1:], "/")
	if s, ok := m.mounts[first]; ok {
		return s, "/" + below, !deeper
	}
	return m.base, name, name == "/"
}

func (m *mount) Stat(ctx context.Context, name string) (Info, error) {
	s, rest, _ := m.at(name)
	i, err := s.Stat(ctx, rest)
	if err == nil {
		i.Name = path.Base(path.Clean("/" + name))
	}
	return i, err
}

func (m *mount) List(ctx context.Context, name string) ([]Info, error) {
	s, rest, _ := m.at(name)
	list, err := s.List(ctx, rest)
	if err != nil || s != m.base || rest != "/" {
		return list, err
	}
	list = slices.DeleteFunc(list, func(i Info) bool { return m.mounts[i.Name] != nil })
	if !m.listed {
		return list, nil
	}
	for point := range m.mounts {
		i, err := m.Stat(ctx, point)
		if err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (m *mount) Open(ctx context.Context, name string, offset int64) (Reader, error) {
	s, rest, _ := m.at(name)
	return s.Open(ctx, rest, offset)
}

func (m *mount) Create(ctx context.Context, name string, o CreateOptions) (Writer, error) {
	s, rest, top := m.at(name)
	if top {
		return nil, fmt.Errorf("create: %s: %w", name, ErrIsDirectory)
	}
	return s.Create(ctx, rest, o)
}

func (m *mount) change(op, name string, do func(s Store, rest string) error) error {
	s, rest, top := m.at(name)
	if top {
		return fmt.Errorf("%s: %s: %w", op, name, fs.ErrPermission)
	}
	return do(s, rest)
}

func (m *mount) Mkdir(ctx context.Context, name string) error {
	return m.change("mkdir", name, func(s Store, rest string) error { return s.Mkdir(ctx, rest) })
}

func (m *mount) Remove(ctx context.Context, name string) error {
	return m.change("remove", name, func(s Store, rest string) error { return s.Remove(ctx, rest) })
}

func (m *mount) Rmdir(ctx context.Context, name string) error {
	return m.change("rmdir", name, func(s Store, rest string) error { return s.Rmdir(ctx, rest) })
}

func (m *mount) Chmod(ctx context.Context, name string, mode fs.FileMode) error {
	return m.change("chmod", name, func(s Store, rest string) error { return s.Chmod(ctx, rest, mode) })
}

func (m *mount) Chtimes(ctx context.Context, name string, t time.Time) error {
	return m.change("set time", name, func(s Store, rest string) error { return s.Chtimes(ctx, rest, t) })
}

func (m *mount) Rename(ctx context.Context, from, to string) error {
	return m.change("rename", from, func(s Store, rest string) error {
		other, target, top := m.at(to)
		if top || other != s {
			return fmt.Errorf("rename: %s to %s: another store: %w", from, to, fs.ErrPermission)
		}
		return s.Rename(ctx, rest, target)
	})
}

func (m *mount) Close() error {
	err := m.base.Close()
	for _, s := range m.mounts {
		err = errors.Join(err, s.Close())
	}
	return err
}
