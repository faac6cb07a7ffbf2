package data

import (
	"fmt"
	"io"
	"os"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// lender is a writer that lends its memory: Next returns some, never empty,
// and Advance says how much of it was filled.
type lender interface {
	Next() ([]byte, error)
	Advance(n int)
}

// filer is a writer to a file, at its position. Grow is told of every n bytes
// about to be written there and may refuse.
type filer interface {
	File() *os.File
	Grow(n int64) error
}

// discarder is a writer that only counts.
type discarder interface {
	Discard(n int64)
}

// recv picks the way in.
func (t *transfer) recv(w io.Writer) error {
	if err := t.tune(true); err != nil {
		return err
	}
	if t.opt.Copy {
		return t.recvCopy(w)
	}
	t.detach()
	tcp, plain := t.socket()
	switch w := w.(type) {
	case discarder:
		if plain {
			return t.recvDiscard(tcp, w)
		}
	case lender:
		return t.recvMapped(w)
	case filer:
		if plain {
			return t.recvFile(tcp, w)
		}
	}
	if c, ok := t.conn.(connLender); ok && t.opt.ReceiveLimit == 0 && t.opt.Limit == nil {
		return t.recvLent(c, w)
	}
	return t.recvCopy(w)
}

// connLender is a connection that lends what it received to a writer, as the
// user-space stack does.
type connLender interface {
	LendTo(w io.Writer) (int64, error)
}

// recvLent writes what the connection lends.
func (t *transfer) recvLent(c connLender, w io.Writer) error {
	t.way = WayLent
	_, err := c.LendTo(taker{t, w})
	return err
}

// taker is the store as a writer that counts.
type taker struct {
	t *transfer
	w io.Writer
}

func (k taker) Write(p []byte) (int, error) {
	n, err := k.w.Write(p)
	if err != nil {
		return n, fmt.Errorf("write to the store: %w", store.Classify(err))
	}
	return n, k.t.moved(n)
}

// receiveSize bounds one receive into lent memory, so that the pages are still
// in the cache when they are used.
const receiveSize = 1 << 20

// recvMapped receives straight into the store's memory.
func (t *transfer) recvMapped(w lender) error {
	t.way = WayMapped
	for {
		b, err := w.Next()
		if err != nil {
			if t.ended() {
				return nil
			}
			return fmt.Errorf("write to the store: %w", err)
		}
		n, err := t.conn.Read(b[:t.chunk(int64(len(b)), receiveSize, t.opt.ReceiveLimit)])
		if n > 0 {
			w.Advance(n)
		}
		if done, err := t.received(n, err); done {
			return err
		}
	}
}

// ended reports whether the stream is over: a store that is full to the last
// byte has taken it all then.
func (t *transfer) ended() bool {
	var b [1]byte
	n, err := t.conn.Read(b[:])
	return n == 0 && err == io.EOF
}

// received counts n bytes; done says that the stream is over, by err if that
// isn't nil.
func (t *transfer) received(n int, err error) (done bool, _ error) {
	if n > 0 {
		if merr := t.moved(n); merr != nil {
			return true, merr
		}
	}
	switch {
	case err == io.EOF:
		return true, nil
	case err != nil:
		return true, fmt.Errorf("receive: %w", err)
	}
	return false, nil
}

// recvCopy receives into a buffer and writes that.
func (t *transfer) recvCopy(w io.Writer) error {
	var b []byte
	if _, ok := t.conn.(*TLSConn); ok { // as many records as are read ahead
		p := gatherBuffers.Get().(*[gatherSize]byte)
		defer gatherBuffers.Put(p)
		b = p[:]
	} else {
		p := buffers.Get().(*[copySize]byte)
		defer buffers.Put(p)
		b = p[:]
	}
	b = b[:t.chunk(int64(len(b)), int64(len(b)), t.opt.ReceiveLimit)]
	for {
		n, err := t.conn.Read(b)
		if n > 0 {
			if _, err := w.Write(b[:n]); err != nil {
				return fmt.Errorf("write to the store: %w", store.Classify(err))
			}
		}
		if done, err := t.received(n, err); done {
			return err
		}
	}
}
