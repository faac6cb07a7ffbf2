package client

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/serve/ftp/store/synthetic"
)

// Zeros returns a source of n zero bytes, for uploads that measure; package
// data sends it without a copy. Where the system has no memory for it, reading
// says so.
func Zeros(n int64) io.ReadSeeker {
	from, err := synthetic.NewZero()
	if err != nil {
		return unreadable{err}
	}
	z := &zeros{from: from, size: n}
	if _, err := z.Seek(0, io.SeekStart); err != nil {
		return unreadable{err}
	}
	return z
}

// generated is what package data asks of a source that spares it copies.
type generated interface {
	io.Reader
	io.WriterTo
	Extents() iter.Seq[store.Extent]
}

type zeros struct {
	generated
	from *synthetic.Zero
	size int64
}

// Seek counts from the start alone, for another try.
func (z *zeros) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart {
		return 0, fmt.Errorf("seek zeros: whence %d is not supported", whence)
	}
	r, err := z.from.Open(context.Background(), strconv.FormatInt(z.size, 10), offset)
	if err != nil {
		return 0, err
	}
	g, ok := r.(generated)
	if !ok {
		return 0, fmt.Errorf("seek zeros: a %T cannot be sent", r)
	}
	z.generated = g
	return offset, nil
}

type unreadable struct{ err error }

func (u unreadable) Read([]byte) (int, error)       { return 0, u.err }
func (u unreadable) Seek(int64, int) (int64, error) { return 0, u.err }
