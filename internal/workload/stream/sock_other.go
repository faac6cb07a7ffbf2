//go:build !linux

package stream

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// tick bounds how long an operation of the data path blocks, so that every
// loop sees the end of its test.
const tick = 100 * time.Millisecond

// sock is a socket used through package net.
type sock struct{ conn net.Conn }

func newSock(c net.Conn) (*sock, error) { return &sock{conn: c}, nil }

// write sends some of b; 0 without an error means that a tick went by.
func (k *sock) write(b []byte) (int, error) {
	if err := k.conn.SetWriteDeadline(time.Now().Add(tick)); err != nil {
		return 0, err
	}
	return quiet(k.conn.Write(b))
}

// read receives into b; 0 without an error means that a tick went by.
func (k *sock) read(b []byte, _ bool) (int, error) {
	if err := k.conn.SetReadDeadline(time.Now().Add(tick)); err != nil {
		return 0, err
	}
	return quiet(k.conn.Read(b))
}

func quiet(n int, err error) (int, error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return n, err
}

func (*sock) readNow([]byte) int           { return 0 }
func (*sock) wakeAt(int)                   {}
func (*sock) receiveTimeout(time.Duration) {}

func (*sock) retransmits() int64 { return -1 }
func (*sock) drops() int64       { return 0 }
func (*sock) congestion() string { return "" }

// canSleep is false: timers are too coarse here for moderation.
const canSleep = false

func sleepThread(time.Duration) {}
func timerSlack(time.Duration)  {}

func threadCPU() time.Duration { return 0 }

// ProcessCPU returns the CPU time of the process; not known here.
func ProcessCPU() (user, system time.Duration) { return 0, 0 }

func pin(int) error { return fmt.Errorf("pin to a core: %w", errors.ErrUnsupported) }

// sender sends one buffer again and again.
type sender struct {
	k   *sock
	buf []byte
}

func (k *sock) sender(how ZeroCopy, buf []byte) (sender, error) {
	if how != Copy {
		return sender{}, fmt.Errorf("zero copy by %s: %w", how, errors.ErrUnsupported)
	}
	return sender{k, buf}, nil
}

func (s sender) send(off int) (int, error) { return s.k.write(s.buf[off:]) }
func (sender) close()                      {}
