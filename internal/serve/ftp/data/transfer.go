package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// transfer is one Send or Recv under way.
type transfer struct {
	ctx   context.Context
	conn  net.Conn
	opt   Options
	start time.Time
	way   Way
	calls int64
	bytes atomic.Int64 // read by the watchdog

	mu      sync.Mutex
	over    bool  // no deadline may be set any more
	stopped error // why the watchdog broke the connection off
	release func() bool
	dog     *time.Timer
	seen    int64 // bytes at the watchdog's last look
}

// past is a deadline that makes a blocked read or write return at once.
var past = time.Unix(1, 0)

func begin(ctx context.Context, c net.Conn, o Options) *transfer {
	t := &transfer{ctx: ctx, conn: c, opt: o, start: time.Now(), way: WayCopy}
	t.release = context.AfterFunc(ctx, func() { t.stop(context.Cause(ctx)) })
	if o.Stall > 0 {
		t.mu.Lock()
		t.dog = time.AfterFunc(o.Stall, t.look)
		t.mu.Unlock()
	}
	return t
}

// look is the watchdog: a look at the byte count now and then costs the
// transfer nothing, where a deadline per read would.
func (t *transfer) look() {
	if n := t.bytes.Load(); n == t.seen {
		t.stop(fmt.Errorf("nothing moved in %s: %w", t.opt.Stall, ErrStalled))
	} else {
		t.seen = n
		t.mu.Lock()
		if !t.over {
			t.dog.Reset(t.opt.Stall)
		}
		t.mu.Unlock()
	}
}

// stop breaks the transfer off because of cause.
func (t *transfer) stop(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.stopped != nil {
		return
	}
	t.stopped = cause
	t.conn.SetDeadline(past) // an error here means that the connection is gone already
}

// broken returns why the transfer has to stop, if it has to.
func (t *transfer) broken() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stopped
}

func (t *transfer) end(err error) (Stats, error) {
	t.release()
	t.mu.Lock()
	t.over = true
	if t.dog != nil {
		t.dog.Stop()
	}
	if t.stopped != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		err = t.stopped
	}
	t.mu.Unlock()
	return Stats{
		Bytes: t.bytes.Load(), Duration: time.Since(t.start), Way: t.way, Calls: t.calls,
		Knobs: t.opt.Knobs, TCP: ReadTCPInfo(t.conn),
	}, err
}

// moved counts n bytes of one send or receive and waits as the rate asks.
func (t *transfer) moved(n int) error {
	t.calls++
	t.bytes.Add(int64(n))
	if t.opt.Moved != nil {
		t.opt.Moved.Add(int64(n))
	}
	if t.opt.Limit != nil {
		return t.opt.Limit.Wait(t.ctx, n)
	}
	return nil
}

// chunk returns how many of n bytes one send takes.
func (t *transfer) sendChunk(n int64, most int) int {
	return t.chunk(n, most, t.opt.SendSize)
}

func (t *transfer) chunk(n int64, most, knob int) int {
	if knob > 0 {
		most = min(most, knob)
	}
	if t.opt.Limit != nil {
		most = min(most, t.opt.Limit.Burst())
	}
	return int(min(n, int64(most)))
}

// sent does what follows every send.
func (t *transfer) sent(n int) error {
	if t.opt.Yield {
		runtime.Gosched()
	}
	return t.moved(n)
}

const copySize = 256 << 10 // of pooled buffers

var buffers = sync.Pool{New: func() any { b := make([]byte, copySize); return &b }}

// sendCopy is the plain way.
func (t *transfer) sendCopy(r io.Reader) error {
	p := buffers.Get().(*[]byte)
	defer buffers.Put(p)
	b := (*p)[:t.sendChunk(copySize, copySize)]
	for {
		n, err := r.Read(b)
		if n > 0 {
			m, werr := t.conn.Write(b[:n])
			if werr = errors.Join(werr, t.sent(m)); werr != nil {
				return fmt.Errorf("send: %w", werr)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read from the store: %w", err)
		}
	}
}

// recvCopy is the plain way.
func (t *transfer) recvCopy(w io.Writer) error {
	p := buffers.Get().(*[]byte)
	defer buffers.Put(p)
	b := (*p)[:t.chunk(copySize, copySize, t.opt.ReceiveLimit)]
	for {
		n, err := t.conn.Read(b)
		if n > 0 {
			if _, werr := w.Write(b[:n]); werr != nil {
				return fmt.Errorf("write to the store: %w", werr)
			}
			if merr := t.moved(n); merr != nil {
				return merr
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
	}
}

func (t *transfer) send(r io.Reader) error { return t.sendCopy(r) }

func (t *transfer) recv(w io.Writer) error { return t.recvCopy(w) }
