package ftp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/internal/serve/ftp/store"
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
		Knobs: x.srv.cfg.Knobs, Limit: x.limit, Stall: x.srv.cfg.Timeouts.Stall, Moved: &t.moved,
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

func (x *session) cmdRetr(arg string) wire.Reply {
	name, err := x.resolve(arg)
	if err != nil {
		return x.failure(err)
	}
	r, err := x.store.Open(x.ctx, name, x.rest)
	if err != nil {
		x.closeEndpoint()
		return x.failure(err)
	}
	defer r.Close()
	t := &transfer{verb: "RETR", path: name, size: r.Size(), text: fmt.Sprintf("Sending %s (%d bytes)", name, r.Size()-x.rest)}
	return x.transfer(t, func(ctx context.Context, c net.Conn, o data.Options) (data.Stats, error) {
		if x.ascii {
			return data.Send(ctx, c, &toNetwork{r: r}, o)
		}
		return data.Send(ctx, c, r, o)
	})
}

func (x *session) cmdStor(arg string) wire.Reply {
	return x.put("STOR", arg, store.CreateOptions{Offset: x.rest})
}

// cmdAppe appends; after REST it goes on at that offset, as STOR does.
func (x *session) cmdAppe(arg string) wire.Reply {
	return x.put("APPE", arg, store.CreateOptions{Offset: x.rest, Append: x.rest == 0})
}

func (x *session) cmdStou(arg string) wire.Reply {
	if arg == "" {
		arg = "upload"
	}
	return x.put("STOU", arg, store.CreateOptions{Unique: true})
}

func (x *session) put(verb, arg string, o store.CreateOptions) wire.Reply {
	o.Size, x.allo = x.allo, 0
	name, err := x.resolve(arg)
	if err != nil {
		return x.failure(err)
	}
	w, err := x.store.Create(x.ctx, name, o)
	if err != nil {
		x.closeEndpoint()
		return x.failure(err)
	}
	t := &transfer{verb: verb, path: name, size: -1, text: "Receiving " + name}
	if o.Unique {
		t.path = path.Join(path.Dir(name), w.Name())
		t.text = "FILE: " + t.path // RFC 1123 4.1.2.9
	}
	ended := false
	r := x.transfer(t, func(ctx context.Context, c net.Conn, o data.Options) (data.Stats, error) {
		ended = true
		return x.receive(ctx, w, c, o)
	})
	if !ended {
		w.Abort() // nothing arrived that an error could lose
	}
	return r
}

// receive takes an upload and puts it in place when all of it has come.
func (x *session) receive(ctx context.Context, w store.Writer, c net.Conn, o data.Options) (data.Stats, error) {
	var stats data.Stats
	var err error
	if x.ascii {
		a := &fromNetwork{w: w}
		stats, err = data.Recv(ctx, a, c, o)
		err = errors.Join(err, a.flush())
	} else {
		stats, err = data.Recv(ctx, w, c, o)
	}
	if err != nil {
		return stats, errors.Join(err, w.Abort())
	}
	return stats, w.Commit()
}

// cmdAllo notes how long the next upload will be (RFC 959 4.1.3).
func (x *session) cmdAllo(arg string) wire.Reply {
	size, _, _ := strings.Cut(arg, " ") // "R record-size" matters to STRU R only
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil || n < 0 {
		return wire.NewReply(501, "Syntax: ALLO <sp> bytes")
	}
	x.allo = n
	return wire.NewReply(200, "%d bytes are expected", n)
}

// cmdRest notes where the next transfer begins (RFC 3659 5). Offsets into text
// whose line ends are converted have no meaning two hosts agree on.
func (x *session) cmdRest(arg string) wire.Reply {
	n, err := strconv.ParseInt(arg, 10, 64)
	switch {
	case err != nil || n < 0:
		return wire.NewReply(501, "Syntax: REST <sp> offset")
	case x.ascii && n > 0:
		return wire.NewReply(504, "REST works in TYPE I only")
	}
	x.rest = n
	return wire.NewReply(350, "Next transfer begins at %d", n)
}

// cmdAbor answers when the transfer it meant has ended, by it or by itself: in
// the first case the transfer's 426 came before (RFC 959 4.1.3).
func (x *session) cmdAbor(string) wire.Reply {
	x.closeEndpoint()
	return wire.NewReply(226, "ABOR is done, no transfer is under way")
}
