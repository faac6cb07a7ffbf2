// Package disk is the store of a directory of the host. Every name is resolved
// below that directory (os.Root): neither ".." nor a symbolic link leads out.
//
// An upload is written beside its target as ".NAME.part" and renamed over it
// when it is complete; one that broke off stays there for a resume. Names of
// that form are hidden from clients.
package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// Options of a Store.
type Options struct {
	Quota int64 // most bytes of regular files, broken-off uploads too; 0: no limit
	Sync  bool  // flush an upload to the device before it takes its name
}

// Store keeps files in a directory.
type Store struct {
	root  *os.Root
	quota *store.Quota
	sync  bool
}

var _ store.Store = (*Store)(nil)

// Open opens directory dir. With a quota it adds up what is there first.
func Open(dir string, o Options) (*Store, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	s := &Store{root: root, sync: o.Sync}
	if o.Quota > 0 {
		used, err := usage(root)
		if err != nil {
			root.Close()
			return nil, fmt.Errorf("open the store: add up %s: %w", dir, err)
		}
		s.quota = store.NewQuota(o.Quota, used)
	}
	return s, nil
}

// usage adds up the sizes of the regular files below root.
func usage(root *os.Root) (sum int64, err error) {
	err = fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

// fail says what couldn't be done with which file and why.
func fail(op, name string, err error) error {
	return fmt.Errorf("%s: %s: %w", op, name, store.Classify(err))
}

// local turns a store's name into one relative to the root.
func local(name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", store.ErrName
	}
	rel := strings.TrimPrefix(path.Clean("/"+name), "/")
	switch {
	case rel == "":
		return ".", nil
	case hidden(path.Base(rel)):
		return "", store.ErrName
	case runtime.GOOS == "windows": // elsewhere any bytes make a name
		return filepath.Localize(rel)
	}
	return rel, nil
}

const (
	partPrefix = "."
	partSuffix = ".part"
)

// hidden reports whether base is the name of an upload under way or broken off.
func hidden(base string) bool {
	return len(base) > len(partPrefix+partSuffix) && strings.HasPrefix(base, partPrefix) && strings.HasSuffix(base, partSuffix)
}

// partOf names the upload of rel.
func partOf(rel string) string {
	dir, base := filepath.Split(rel)
	return dir + partPrefix + base + partSuffix
}

func info(name string, fi fs.FileInfo) store.Info {
	return store.Info{Name: name, Size: fi.Size(), Mode: fi.Mode(), ModTime: fi.ModTime(), Unique: unique(fi)}
}

// Stat implements store.Store.
func (s *Store) Stat(_ context.Context, name string) (store.Info, error) {
	rel, err := local(name)
	if err != nil {
		return store.Info{}, fail("stat", name, err)
	}
	fi, err := s.root.Stat(rel)
	if err == nil {
		return info(path.Base(path.Clean("/"+name)), fi), nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		if fi, perr := s.root.Lstat(partOf(rel)); perr == nil {
			i := info(path.Base(name), fi)
			i.Partial = true
			return i, nil
		}
	}
	return store.Info{}, fail("stat", name, err)
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, name string) ([]store.Info, error) {
	rel, err := local(name)
	if err != nil {
		return nil, fail("list", name, err)
	}
	fi, err := s.root.Stat(rel)
	if err == nil && !fi.IsDir() {
		err = store.ErrNotDirectory
	}
	if err != nil {
		return nil, fail("list", name, err)
	}
	dir, err := s.root.OpenRoot(rel)
	if err != nil {
		return nil, fail("list", name, err)
	}
	defer dir.Close()
	f, err := dir.Open(".")
	if err != nil {
		return nil, fail("list", name, err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, fail("list", name, err)
	}
	return s.describe(ctx, dir, rel, names)
}

// describe looks at the files names of dir, which is rel below the root. Links
// are followed where they stay below the root; the others aren't listed, nor
// is what vanishes meanwhile.
func (s *Store) describe(ctx context.Context, dir *os.Root, rel string, names []string) ([]store.Info, error) {
	list := make([]store.Info, 0, len(names))
	for _, n := range names {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if hidden(n) {
			continue
		}
		fi, err := dir.Lstat(n)
		if err == nil && fi.Mode()&fs.ModeSymlink != 0 {
			fi, err = s.root.Stat(filepath.Join(rel, n))
		}
		if err == nil {
			list = append(list, info(n, fi))
		}
	}
	return list, nil
}

// Close implements store.Store.
func (s *Store) Close() error { return s.root.Close() }

// Chtimes implements store.Store.
func (s *Store) Chtimes(_ context.Context, name string, mtime time.Time) error {
	return s.change("set time", name, func(rel string) error { return s.root.Chtimes(rel, time.Time{}, mtime) })
}

// Chmod implements store.Store.
func (s *Store) Chmod(_ context.Context, name string, mode fs.FileMode) error {
	return s.change("chmod", name, func(rel string) error { return s.root.Chmod(rel, mode.Perm()) })
}

// Mkdir implements store.Store.
func (s *Store) Mkdir(_ context.Context, name string) error {
	return s.change("mkdir", name, func(rel string) error { return s.root.Mkdir(rel, 0o777) })
}

func (s *Store) change(op, name string, do func(rel string) error) error {
	rel, err := local(name)
	if err == nil {
		err = do(rel)
	}
	if err != nil {
		return fail(op, name, err)
	}
	return nil
}
