//go:build !linux

package data

import "syscall"

func (t *transfer) recvDiscard(_ syscall.Conn, w discarder) error { return t.recvCopy(dropped{w}) }

// dropped is a discarder as a writer.
type dropped struct{ discarder }

func (d dropped) Write(p []byte) (int, error) {
	d.Discard(int64(len(p)))
	return len(p), nil
}

func (t *transfer) recvFile(_ syscall.Conn, w filer) error { return t.recvCopy(written{w}) }

// written is a filer as a writer.
type written struct{ filer }

func (f written) Write(p []byte) (int, error) {
	if err := f.Grow(int64(len(p))); err != nil {
		return 0, err
	}
	return f.File().Write(p)
}
