// Package synthetic holds the stores that measure: Zero, whose files have
// whatever length their name says, and Sink, which counts what is put there
// and drops it. As in the field report, get and put then cost no storage.
package synthetic

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/result"
)

// Zero is a store of files of zeros. Each name that is a size ("1460",
// "64KiB", "292MB") is a file of that many bytes.
type Zero struct {
	store.Store // refuses what changes files
	start       time.Time
	file        *os.File // of zeros; nil where memory isn't a file
}

// NewZero returns the store.
func NewZero() (*Zero, error) {
	f, err := zeros()
	if err != nil {
		return nil, fmt.Errorf("file of zeros: %w", err)
	}
	z := &Zero{start: time.Now(), file: f}
	z.Store = store.ReadOnly(z)
	return z, nil
}

// size returns the size that name asks for.
func size(name string) (int64, error) {
	base := strings.TrimPrefix(path.Clean("/"+name), "/")
	n, err := result.ParseSize(base)
	if err != nil || n < 0 || strings.Contains(base, "/") {
		return 0, fmt.Errorf("%s: not a size such as 292MB: %w", name, fs.ErrNotExist)
	}
	return n, nil
}

// Stat implements store.Store.
func (z *Zero) Stat(_ context.Context, name string) (store.Info, error) {
	if path.Clean("/"+name) == "/" {
		return store.Info{Name: "/", Mode: fs.ModeDir | 0o555, ModTime: z.start}, nil
	}
	n, err := size(name)
	if err != nil {
		return store.Info{}, err
	}
	return store.Info{Name: path.Base(name), Size: n, Mode: 0o444, ModTime: z.start, Unique: fmt.Sprintf("zero%d", n)}, nil
}

// List implements store.Store: the files are without number; these are examples.
func (z *Zero) List(ctx context.Context, name string) ([]store.Info, error) {
	if path.Clean("/"+name) != "/" {
		return nil, fmt.Errorf("list: %s: %w", name, store.ErrNotDirectory)
	}
	var list []store.Info
	for _, n := range []string{"1MB", "292MB", "1GiB", "10GB"} {
		i, err := z.Stat(ctx, n)
		if err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	return list, nil
}

// Open implements store.Store.
func (z *Zero) Open(_ context.Context, name string, offset int64) (store.Reader, error) {
	if path.Clean("/"+name) == "/" {
		return nil, fmt.Errorf("open: %s: %w", name, store.ErrIsDirectory)
	}
	n, err := size(name)
	if err != nil {
		return nil, err
	}
	if offset < 0 || offset > n {
		return nil, fmt.Errorf("open: %s: %w", name, store.ErrOffset)
	}
	return &zeroReader{file: z.file, size: n, left: n - offset}, nil
}

// Close implements store.Store. The file stays for readers until they are
// garbage.
func (z *Zero) Close() error { return nil }

type zeroReader struct {
	file *os.File
	size int64
	left int64
}

func (r *zeroReader) Size() int64  { return r.size }
func (r *zeroReader) Close() error { return nil }

func (r *zeroReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), r.left))
	clear(p[:n])
	r.left -= int64(n)
	return n, nil
}

// chunk is what WriteTo writes at a time.
const chunk = 256 << 10

var block [chunk]byte

// WriteTo implements io.WriterTo.
func (r *zeroReader) WriteTo(w io.Writer) (sum int64, err error) {
	for r.left > 0 && err == nil {
		var n int
		n, err = w.Write(block[:min(chunk, r.left)])
		r.left -= int64(n)
		sum += int64(n)
	}
	return sum, err
}

// Extents lets the zeros go out by sendfile.
func (r *zeroReader) Extents() iter.Seq[store.Extent] {
	if r.file == nil {
		return nil
	}
	return func(yield func(store.Extent) bool) {
		for left := r.left; left > 0; left -= min(left, zerosSize) {
			if !yield(store.Extent{File: r.file, Length: min(left, zerosSize)}) {
				return
			}
		}
	}
}

// zerosSize is the length of the file of zeros: small enough to stay in the
// cache, large enough that a call moves much of it.
const zerosSize = 4 << 20
