package data

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
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
	bytes atomic.Int64 // the watchdog reads it

	release func() bool // ends the watch over ctx
	handed  int64       // bytes of whole sends and receives

	mu        sync.Mutex
	direct    *direct // the socket, once it has left Go's poller
	before    int64   // bytes acknowledged before ours; negative: acknowledgements aren't looked at
	receiving bool
	over      bool  // no deadline may be set any more
	stopped   error // why the connection was broken off
	dog       *time.Timer
	seen      int64         // bytes at the watchdog's last look
	idle      time.Duration // for which it saw none move
	eager     bool          // what arrives is taken at once, below the low water mark too
}

// past is a deadline that makes a read or write that waits return at once.
var past = time.Unix(1, 0)

func begin(ctx context.Context, c net.Conn, o Options) *transfer {
	t := &transfer{ctx: ctx, conn: c, opt: o, start: time.Now(), way: WayCopy, before: -1}
	t.release = context.AfterFunc(ctx, func() { t.stop(context.Cause(ctx)) })
	t.mu.Lock()
	t.dog = time.AfterFunc(t.lookEvery(), t.look)
	t.mu.Unlock()
	return t
}

// lookEvery is the time between two looks of the watchdog.
func (t *transfer) lookEvery() time.Duration {
	const often = 250 * time.Millisecond
	if t.opt.Stall > 0 {
		return min(t.opt.Stall, often)
	}
	return often
}

// look is the watchdog: looking at the byte count now and then costs the
// transfer nothing, where a deadline for each read would. A slow peer, whose
// bytes wait below the low water mark, gets them taken at once.
func (t *transfer) look() {
	t.mu.Lock()
	if t.before >= 0 && !t.over { // one call may last long
		t.progress(t.direct.acknowledged() - t.before)
	}
	n := t.bytes.Load()
	t.idle += t.lookEvery()
	slow := n-t.seen < lowWater
	if n != t.seen {
		t.idle = 0
	}
	t.seen = n
	if slow != t.eager && !t.over {
		t.eager = slow
		t.setEager(slow)
	}
	stalled := t.opt.Stall > 0 && t.idle >= t.opt.Stall
	if !stalled && !t.over {
		t.dog.Reset(t.lookEvery())
	}
	t.mu.Unlock()
	if stalled {
		t.stop(fmt.Errorf("nothing moved in %s: %w", t.opt.Stall, ErrStalled))
	}
}

// stop breaks the transfer off.
func (t *transfer) stop(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.stopped != nil {
		return
	}
	t.stopped = cause
	if t.direct != nil {
		t.direct.shut()
		return
	}
	t.conn.SetDeadline(past) // fails for a connection that is gone already
}

// end closes the books. An error that stop caused is replaced by its cause; to
// a socket out of the poller, stop looks like the peer's end too.
func (t *transfer) end(err error) (Stats, error) {
	t.release()
	t.mu.Lock()
	t.over = true
	t.dog.Stop()
	if t.stopped != nil && (t.direct != nil || errors.Is(err, os.ErrDeadlineExceeded)) {
		err = t.stopped
	}
	t.mu.Unlock()
	s := Stats{
		Bytes: t.bytes.Load(), Duration: time.Since(t.start), Way: t.way, Calls: t.calls,
		Knobs: t.opt.Knobs, TCP: ReadTCPInfo(t.conn),
	}
	if t.direct != nil {
		t.direct.Close() // what matters has been said by CloseWrite
		t.opt.Threads.give()
	}
	return s, err
}

// moved counts the n bytes of one send or receive and waits as the rate asks.
func (t *transfer) moved(n int) error {
	t.calls++
	t.handed += int64(n)
	t.progress(t.handed)
	if t.opt.Limit != nil {
		return t.opt.Limit.Wait(t.ctx, n)
	}
	return nil
}

// progress notes that n bytes have moved in all.
func (t *transfer) progress(n int64) {
	for {
		old := t.bytes.Load()
		if n <= old {
			return
		}
		if t.bytes.CompareAndSwap(old, n) {
			if t.opt.Moved != nil {
				t.opt.Moved.Add(n - old)
			}
			return
		}
	}
}

// chunk returns how many of n bytes go at once: at most most, knob where it is
// set, and no more than the rate allows in one go.
func (t *transfer) chunk(n, most int64, knob int) int {
	n = min(n, most)
	if knob > 0 {
		n = min(n, int64(knob))
	}
	if t.opt.Limit != nil {
		n = min(n, t.opt.Limit.burst())
	}
	return int(n)
}
