package stream

import (
	"crypto/rand"
	"io"
	"net"
	"time"
)

// Bounds of what one read of bulk payload asks for. What is dropped needs no
// room in a cache.
const (
	readLeast   = 32 << 10
	readMost    = 256 << 10
	discardMost = 1 << 20
)

// payload returns n bytes to send: random, so that no compressing link on the
// way flatters the result, or repeating digits.
func (t Test) payload(n int) []byte {
	b := make([]byte, n)
	if !t.Repeating {
		_, _ = rand.Read(b) // crypto/rand.Read never fails since Go 1.24
		return b
	}
	for i := range b {
		b[i] = '0' + byte(i%10)
	}
	return b
}

// send writes messages until the test ends.
func (s *Stream) send(k *sock, start time.Time, c *Counts) error {
	buf := s.common()
	out, err := k.sender(s.test.ZeroCopy, buf)
	if err != nil {
		return err
	}
	defer out.close()
	p := newPace(start, s.test.Rate, len(buf), s.test.Burst)
	for !s.halt.Load() {
		if p != nil {
			if n, wait := p.due(c.Messages, 1); n == 0 {
				s.publish(*c)
				s.sleep(wait)
				continue
			}
		}
		if s.take(1) == 0 {
			return nil
		}
		for off := 0; off < len(buf); {
			n, err := out.send(off)
			c.Syscalls++
			c.Bytes += int64(n)
			off += n
			if err != nil {
				return err
			}
			if s.halt.Load() && off < len(buf) {
				return errHalted
			}
		}
		c.Messages++
		if c.Messages%publishEvery == 0 || len(buf) >= 4096 {
			s.publish(*c)
		}
	}
	return errHalted
}

// sleep waits, no longer than a tick so that a stopped test is noticed.
func (s *Stream) sleep(d time.Duration) { time.Sleep(min(d, tick)) }

// receive reads until the peer closes or the test ends.
func (s *Stream) receive(k *sock, c *Counts) error {
	most := readMost
	if s.test.Discard {
		most = discardMost
	}
	buf := make([]byte, s.test.share(readLeast, most))
	m := newModeration(k, s.test.Socket)
	defer m.end()
	for !s.halt.Load() {
		m.wait()
		n, err := k.read(buf, s.test.Discard)
		m.got(n, len(buf))
		c.Syscalls++
		if n > 0 {
			c.Bytes += int64(n)
			c.Messages++
		}
		if c.Messages%publishEvery == 0 || n >= 4096 || n == 0 {
			s.publish(*c)
		}
		if err != nil {
			return err
		}
		if s.spent(n) {
			return nil
		}
	}
	if s.Drain {
		for until := time.Now().Add(tick); time.Now().Before(until); {
			n := k.readNow(buf)
			if n == 0 {
				break
			}
			c.Bytes += int64(n)
		}
	}
	return errHalted
}

// readFull fills b; a halted test ends it early.
func (s *Stream) readFull(k *sock, b []byte, c *Counts) error {
	for off := 0; off < len(b); {
		n, err := k.read(b[off:], false)
		c.Syscalls++
		off += n
		if err != nil {
			if err == io.EOF && off > 0 {
				return io.ErrUnexpectedEOF
			}
			return err
		}
		if n == 0 && s.halt.Load() {
			return errHalted
		}
	}
	return nil
}

// writeFull sends b; a halted test ends it early.
func (s *Stream) writeFull(k *sock, b []byte, c *Counts) error {
	for off := 0; off < len(b); {
		n, err := k.write(b[off:])
		c.Syscalls++
		off += n
		if err != nil {
			return err
		}
		if n == 0 && s.halt.Load() {
			return errHalted
		}
	}
	return nil
}

// Linger shuts conn down for sending and reads until the peer closes too, so
// that what is on the way in does not meet a closed socket, which answers RST.
func Linger(conn net.Conn, timeout time.Duration) {
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	k, err := newSock(conn)
	if err != nil {
		return
	}
	buf := make([]byte, readLeast)
	for until := time.Now().Add(timeout); time.Now().Before(until); {
		if _, err := k.read(buf, true); err != nil {
			return
		}
	}
}
