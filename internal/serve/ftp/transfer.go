package ftp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/data"
	wire "github.com/linerate/linerate/internal/wire/ftp"
)

// errNotPrivate refuses data in clear where policy wants it private.
var errNotPrivate = errors.New("data connection in clear")

// transfer is one use of a data connection.
type transfer struct {
	verb  string
	path  string
	size  int64  // of the file; -1 where not known
	text  string // of the 150 reply
	start time.Time
	moved atomic.Int64
	stats data.Stats
}

// direction is the label of the transfer in counters and logs.
func (t *transfer) direction() string {
	switch t.verb {
	case "RETR":
		return "get"
	case "STOR", "APPE", "STOU":
		return "put"
	}
	return "list"
}

// String says how far the transfer is, for STAT.
func (t *transfer) String() string {
	of := ""
	if t.size >= 0 {
		of = fmt.Sprintf(" of %d", t.size)
	}
	return fmt.Sprintf("%s %s: %d%s bytes in %.1f s", t.verb, t.path, t.moved.Load(), of, time.Since(t.start).Seconds())
}

// mover moves the bytes of a transfer once its data connection stands.
type mover func(ctx context.Context, c net.Conn, o data.Options) (data.Stats, error)

// transfer makes the data connection, announces it, moves the bytes and
// returns the final reply. ABOR, STAT and the loss of the control connection
// are noticed all the while.
func (x *session) transfer(t *transfer, move mover) wire.Reply {
	ctx, cancel := context.WithCancelCause(x.ctx)
	defer cancel(nil)
	x.begin(t)
	stop := x.watch(cancel)
	opened, err := x.openAndMove(ctx, t, move)
	stop()
	x.finish(t, err)
	switch {
	case err == nil:
		return wire.NewReply(226, "Transfer complete, %d bytes", t.stats.Bytes)
	case !opened:
		return openFailure(err)
	}
	return x.moveFailure(err)
}

func (x *session) openAndMove(ctx context.Context, t *transfer, move mover) (opened bool, err error) {
	if x.srv.cfg.RequireTLS && !x.private {
		x.closeEndpoint()
		return false, errNotPrivate
	}
	c, err := x.openData(ctx)
	if err != nil {
		return false, err
	}
	defer func() { c.Close() }()
	if !x.send(150, "%s", t.text) {
		return false, errGone
	}
	if x.private {
		d, err := x.protect(ctx, c)
		if err != nil {
			return false, err
		}
		c = d
	}
	if x.deflate {
		c = newDeflateConn(c)
	}
	t.stats, err = move(ctx, c, data.Options{
		Knobs: x.srv.cfg.Knobs, Limit: x.limit, Stall: x.srv.cfg.Timeouts.Stall, Moved: &t.moved, Threads: x.srv.threads,
	})
	return true, err
}

// begin enters t as the transfer under way.
func (x *session) begin(t *transfer) {
	t.start = time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.busy = t
}

// finish books t, all at once for who reads the counters.
func (x *session) finish(t *transfer, err error) {
	x.srv.mu.Lock()
	x.mu.Lock()
	x.busy = nil
	x.srv.counters.transfer(t, err == nil)
	x.mu.Unlock()
	x.srv.mu.Unlock()
	x.record(t, err)
}

// maxQueue bounds the commands kept while a transfer runs; the rest waits in
// the socket.
const maxQueue = 16

// watch reads commands while a transfer runs: STAT is answered, ABOR and the
// end of the connection cancel the transfer, everything else waits its turn.
// The returned function ends the watch.
func (x *session) watch(cancel context.CancelCauseFunc) (stop func()) {
	done := make(chan struct{})
	// A deadline left over from the last command would end the watch.
	err := x.conn.SetReadDeadline(time.Time{})
	go func() {
		defer close(done)
		for err == nil && len(x.queue) < maxQueue {
			var in input
			if in, err = x.read(); err != nil {
				break
			}
			switch {
			case in.cmd.Verb == "STAT" && in.cmd.Arg == "" && len(x.queue) == 0:
				x.write(wire.Reply{Code: 211, Lines: x.status()})
				continue
			case in.cmd.Verb == "ABOR":
				cancel(errAborted)
			}
			x.queue = append(x.queue, in)
		}
		if err != nil && !isTimeout(err) {
			cancel(errGone)
		}
	}()
	return func() {
		x.conn.SetReadDeadline(past) // an error means that the watch has ended
		<-done
	}
}

func isTimeout(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}
