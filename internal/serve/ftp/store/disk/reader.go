package disk

import (
	"context"
	"io"
	"iter"
	"os"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// reader reads the file as long as it was when opened: what is appended later
// belongs to the next reader.
type reader struct {
	io.LimitedReader
	file *os.File
	size int64
}

// Open implements store.Store.
func (s *Store) Open(_ context.Context, name string, offset int64) (store.Reader, error) {
	rel, err := local(name)
	if err != nil {
		return nil, fail("open", name, err)
	}
	// Looked at before it is opened, for opening a FIFO would wait for its writer.
	fi, err := s.root.Stat(rel)
	switch {
	case err != nil:
		return nil, fail("open", name, err)
	case fi.IsDir():
		return nil, fail("open", name, store.ErrIsDirectory)
	case !fi.Mode().IsRegular():
		return nil, fail("open", name, os.ErrPermission)
	}
	f, err := s.root.Open(rel)
	if err != nil {
		return nil, fail("open", name, err)
	}
	r, err := newReader(f, offset)
	if err != nil {
		f.Close()
		return nil, fail("open", name, err)
	}
	return r, nil
}

func newReader(f *os.File, offset int64) (*reader, error) {
	fi, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case offset < 0 || offset > fi.Size():
		return nil, store.ErrOffset
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	return &reader{io.LimitedReader{R: f, N: fi.Size() - offset}, f, fi.Size()}, nil
}

func (r *reader) Size() int64 { return r.size }

func (r *reader) Close() error { return r.file.Close() }

// Extents lets the content go out by sendfile.
func (r *reader) Extents() iter.Seq[store.Extent] {
	return func(yield func(store.Extent) bool) {
		yield(store.Extent{File: r.file, Offset: r.size - r.N, Length: r.N})
	}
}
