package pcap

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// maxWindow bounds the history that a compressed file can make us keep.
const maxWindow = 16 << 20

// decompress recognizes gzip, zstd and xz by their magic numbers and returns
// the plain stream, with the name of the compression or "". Inflation runs on
// a goroutine of its own, which ends with the stream or when the returned
// reader, an io.Closer then, is closed.
func decompress(r io.Reader) (io.Reader, string, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	head, _ := br.Peek(6) // a shorter file has no compression's magic number
	var z io.Reader
	var name string
	var err error
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		name = "gzip"
		z, err = gzip.NewReader(br)
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		name = "zstd"
		z, err = zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	case bytes.HasPrefix(head, []byte{0xfd, '7', 'z', 'X', 'Z', 0}):
		name = "xz"
		z, err = xz.ReaderConfig{SingleStream: false}.NewReader(br)
	default:
		return br, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, err)
	}
	return newAhead(z), name, nil
}

// ahead reads a stream on its own goroutine, two blocks ahead.
type ahead struct {
	full, free chan []byte
	done       chan struct{}
	stop       sync.Once
	now        []byte // what is left of the block in use
	block      []byte
	err        error
}

func newAhead(r io.Reader) *ahead {
	a := &ahead{full: make(chan []byte, 2), free: make(chan []byte, 2), done: make(chan struct{})}
	for range cap(a.free) {
		a.free <- make([]byte, 256<<10)
	}
	go a.run(r)
	return a
}

func (a *ahead) run(r io.Reader) {
	defer close(a.full)
	if d, ok := r.(*zstd.Decoder); ok {
		defer d.Close()
	}
	for {
		var b []byte
		select {
		case b = <-a.free:
		case <-a.done:
			return
		}
		n, err := io.ReadFull(r, b[:cap(b)])
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			a.err = fmt.Errorf("decompress: %w", err)
		}
		select {
		case a.full <- b[:n]:
		case <-a.done:
			return
		}
		if err != nil {
			return
		}
	}
}

func (a *ahead) Read(p []byte) (int, error) {
	for len(a.now) == 0 {
		if a.block != nil {
			a.free <- a.block // never blocks: at most two blocks exist
		}
		b, ok := <-a.full
		if !ok {
			a.block = nil
			if a.err != nil {
				return 0, a.err
			}
			return 0, io.EOF
		}
		a.block, a.now = b, b
	}
	n := copy(p, a.now)
	a.now = a.now[n:]
	return n, nil
}

// Close ends the goroutine.
func (a *ahead) Close() error {
	a.stop.Do(func() { close(a.done) })
	return nil
}
