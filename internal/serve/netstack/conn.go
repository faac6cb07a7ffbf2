//go:build !386 && !arm && !mips && !mipsle

package netstack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/waiter"
)

// conn is a TCP connection of the stack.
type conn struct {
	ep            tcpip.Endpoint
	queue         *waiter.Queue
	local, remote net.Addr
	tuned         bool // the receive buffer grows with what is taken
	free          func()
	stuck         stuck

	read, write deadline
	room        chan struct{} // told when half of the send buffer is free, or the connection ends
	roomEntry   waiter.Entry
	full        bool // the last write found less room than it wanted
	reading     sync.Mutex
	writing     sync.Mutex
	closing     sync.Once
}

func (s *Stack) newConn(ep tcpip.Endpoint, q *waiter.Queue) (*conn, error) {
	n := s.knobs.perConnection()
	if err := s.memory.take(n); err != nil {
		ep.Abort()
		return nil, err
	}
	c := &conn{ep: ep, queue: q, tuned: s.knobs.ReceiveBuffer == 0, free: func() { s.memory.give(n) }}
	c.roomEntry, c.room = waiter.NewChannelEntry(waiter.WritableEvents | waiter.EventHUp | waiter.EventErr)
	q.EventRegister(&c.roomEntry)
	if a, err := ep.GetLocalAddress(); err == nil {
		c.local = tcpAddr(a)
	}
	if a, err := ep.GetRemoteAddress(); err == nil {
		c.remote = tcpAddr(a)
	}
	return c, nil
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	w := tcpip.SliceWriter(b)
	return c.take(&w)
}

// LendTo lends what is received to w piece by piece until the peer ends the
// stream, without the copy that Read makes, and frees it then; the report calls
// it no-copy receive. w must not wait for this stack: the stack waits for it.
func (c *conn) LendTo(w io.Writer) (total int64, err error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	l := lent{w: w}
	for {
		n, err := c.take(&l)
		total += int64(n)
		switch {
		case l.err != nil:
			return total, l.err
		case err == io.EOF:
			return total, nil
		case err != nil:
			return total, err
		}
	}
}

// lent remembers the error of the writer that buffers are lent to.
type lent struct {
	w   io.Writer
	err error
}

func (l *lent) Write(b []byte) (int, error) {
	n, err := l.w.Write(b)
	l.err = err
	return n, err
}

// take moves what was received to w, and waits for something first.
func (c *conn) take(w io.Writer) (int, error) {
	n := 0
	err := c.until(&c.read, waiter.ReadableEvents|waiter.EventHUp|waiter.EventErr, func() tcpip.Error {
		r, err := c.ep.Read(w, tcpip.ReadOptions{})
		n = r.Count
		if n > 0 {
			return nil
		}
		return err
	})
	if c.tuned && n > 0 {
		c.ep.ModerateRecvBuf(n)
	}
	if err != nil {
		return n, opError("read", err)
	}
	return n, nil
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (n int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	r := bytes.NewReader(b)
	for n < len(b) && err == nil {
		var m int64
		m, err = c.put(r)
		n += int(m)
	}
	return n, err
}

// ReadFrom sends what a reader of known length holds, without a buffer in
// between.
func (c *conn) ReadFrom(r io.Reader) (n int64, err error) {
	section, ok := r.(*io.SectionReader)
	if !ok {
		return io.Copy(struct{ io.Writer }{c}, r)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	p := &rest{section}
	for p.Len() > 0 && err == nil {
		var m int64
		m, err = c.put(p)
		n += m
	}
	return n, err
}

// rest is a section as the payload of sends.
type rest struct{ *io.SectionReader }

func (r rest) Len() int {
	at, _ := r.Seek(0, io.SeekCurrent) // it has no error to return for this
	return int(min(r.Size()-at, most))
}

// put sends some of p, and waits for room first. A write that filled the buffer
// is followed by one into a buffer half empty: filling it up piece by piece, as
// room comes, would make small segments.
func (c *conn) put(p tcpip.Payloader) (n int64, err error) {
	if c.write.passed() {
		return 0, opError("write", os.ErrDeadlineExceeded)
	}
	var late <-chan time.Time
	for {
		if !c.full {
			select {
			case <-c.room: // of before
			default:
			}
			want := int64(p.Len())
			n, terr := c.ep.Write(p, tcpip.WriteOptions{})
			_, blocked := terr.(*tcpip.ErrWouldBlock)
			c.full = blocked || terr == nil && n < want
			switch {
			case n > 0:
				return n, nil
			case !blocked && terr != nil:
				return 0, opError("write", plain(terr))
			}
		}
		if late == nil {
			late = c.stuck.begin()
			defer c.stuck.end()
		}
		select {
		case <-c.room:
			c.full = false
		case <-late:
			c.stuck.open(c.ep)
		case <-c.write.done():
			if c.write.passed() {
				return 0, opError("write", os.ErrDeadlineExceeded)
			}
		}
	}
}

// until tries again at each event until the answer is not "would block".
func (c *conn) until(d *deadline, events waiter.EventMask, try func() tcpip.Error) error {
	if d.passed() {
		return os.ErrDeadlineExceeded
	}
	err := try()
	if _, blocked := err.(*tcpip.ErrWouldBlock); !blocked {
		return plain(err)
	}
	entry, event := waiter.NewChannelEntry(events)
	c.queue.EventRegister(&entry)
	defer c.queue.EventUnregister(&entry)
	for {
		err := try()
		if _, blocked := err.(*tcpip.ErrWouldBlock); !blocked {
			return plain(err)
		}
		select {
		case <-event:
		case <-d.done():
			if d.passed() {
				return os.ErrDeadlineExceeded
			}
		}
	}
}

// CloseWrite ends our direction.
func (c *conn) CloseWrite() error {
	if err := c.ep.Shutdown(tcpip.ShutdownWrite); err != nil {
		return opError("close", plain(err))
	}
	return nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.closing.Do(func() {
		c.ep.Close()
		c.queue.Notify(waiter.EventHUp) // to a write that waits for room
		c.queue.EventUnregister(&c.roomEntry)
		c.free()
	})
	return nil
}

func (c *conn) LocalAddr() net.Addr                { return c.local }
func (c *conn) RemoteAddr() net.Addr               { return c.remote }
func (c *conn) SetReadDeadline(t time.Time) error  { c.read.set(t); return nil }
func (c *conn) SetWriteDeadline(t time.Time) error { c.write.set(t); return nil }
func (c *conn) SetDeadline(t time.Time) error      { c.read.set(t); c.write.set(t); return nil }

// plain turns an error of the stack into one of the system.
func plain(err tcpip.Error) error {
	switch err.(type) {
	case nil:
		return nil
	case *tcpip.ErrClosedForReceive:
		return io.EOF
	case *tcpip.ErrClosedForSend, *tcpip.ErrInvalidEndpointState:
		return net.ErrClosed
	case *tcpip.ErrConnectionReset, *tcpip.ErrConnectionAborted:
		return syscall.ECONNRESET
	case *tcpip.ErrConnectionRefused:
		return syscall.ECONNREFUSED
	case *tcpip.ErrTimeout:
		return syscall.ETIMEDOUT
	case *tcpip.ErrHostUnreachable:
		return syscall.EHOSTUNREACH
	}
	return errors.New(err.String())
}

func opError(op string, err error) error {
	if err == io.EOF {
		return err
	}
	return fmt.Errorf("netstack: %s: %w", op, err)
}
