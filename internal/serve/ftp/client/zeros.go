package client

import (
	"errors"
	"io"
	"iter"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

const (
	// zeroChunk is what one write of Zeros carries; it stays in a core's cache.
	zeroChunk = 256 << 10
	// zeroExtent is the length of the file that is sent over and over.
	zeroExtent = 64 << 20
)

// Zeros returns a source of n zero bytes, for uploads that measure.
func Zeros(n int64) io.ReadSeeker { return &zeros{size: n} }

type zeros struct{ at, size int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.at >= z.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), z.size-z.at))
	clear(p[:n])
	z.at += int64(n)
	return n, nil
}

// Extents lets package data send by sendfile(2), where the system has files
// that take no room.
func (z *zeros) Extents() iter.Seq[store.Extent] {
	f := zeroFile(zeroExtent)
	if f == nil {
		return nil
	}
	return func(yield func(store.Extent) bool) {
		defer f.Close()
		for z.at < z.size {
			n := min(z.size-z.at, zeroExtent)
			if !yield(store.Extent{File: f, Length: n}) {
				return
			}
			z.at += n
		}
	}
}

// WriteTo spares the clearing of a buffer for each write.
func (z *zeros) WriteTo(w io.Writer) (total int64, err error) {
	chunk := make([]byte, min(zeroChunk, max(z.size-z.at, 0)))
	for z.at < z.size && err == nil {
		var n int
		n, err = w.Write(chunk[:min(int64(len(chunk)), z.size-z.at)])
		z.at += int64(n)
		total += int64(n)
	}
	return total, err
}

func (z *zeros) Seek(offset int64, whence int) (int64, error) {
	base := map[int]int64{io.SeekStart: 0, io.SeekCurrent: z.at, io.SeekEnd: z.size}[whence]
	if base+offset < 0 {
		return 0, errors.New("seek before the start")
	}
	z.at = base + offset
	return z.at, nil
}
