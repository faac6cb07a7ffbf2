package ftp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/serve/ftp/users"
	wire "github.com/linerate/linerate/internal/wire/ftp"
)

// session is one control connection. Its fields belong to the goroutine of
// run, but for those behind mu; the watcher of a transfer borrows the input
// while that goroutine is in the transfer.
type session struct {
	srv    *Server
	id     int64
	ctx    context.Context // ends when the session does, or by abandon
	cancel context.CancelFunc
	start  time.Time  // of the time to log in
	peer   netip.Addr // of the client, behind a proxy too
	local  netip.AddrPort

	// Input.
	tcp    net.Conn // as accepted
	conn   net.Conn // tcp, or TLS over it
	lines  wire.LineDecoder
	buf    [256]byte
	unread []byte  // of buf
	queue  []input // commands that came during a transfer

	// Login.
	user     string // given by USER
	loggedIn bool
	account  users.Account
	store    store.Store
	limit    *data.Limiter
	failures int // wrong passwords and unknown commands
	quit     bool
	after    func() error // what to do once the reply is out (AUTH, CCC)

	// Protection (RFC 2228, RFC 4217).
	tls     *tlsSession // nil: control in clear
	pbsz    bool
	private bool        // PROT P
	dataTLS *tlsSession // of data connections; stays after CCC

	// Transfer parameters.
	cwd      string
	ascii    bool
	deflate  bool
	facts    wire.Facts
	hash     hashing
	epsvAll  bool
	endpoint endpoint // where the next data connection comes from
	rest     int64
	rang     *span // RANG; nil: the whole file
	allo     int64
	rename   string // RNFR

	out sync.Mutex // replies are written whole

	mu   sync.Mutex
	busy *transfer // the transfer under way
}

// input is one command line, or why it isn't one.
type input struct {
	cmd wire.Command
	err error
}

func newSession(ctx context.Context, srv *Server, c net.Conn) *session {
	x := &session{
		srv: srv, id: srv.nextID.Add(1), tcp: c, conn: c, start: time.Now(),
		peer: addrOf(c.RemoteAddr()).Addr(), local: addrOf(rawConn(c).LocalAddr()),
	}
	x.ctx, x.cancel = context.WithCancel(ctx)
	x.reset()
	return x
}

// reset sets the parameters to their defaults (RFC 959 5.1; 3659 for facts).
func (x *session) reset() {
	x.user, x.cwd, x.ascii, x.deflate = "", "/", true, false
	x.facts, x.hash = wire.AllFacts, hashing(defaultHash)
	x.epsvAll, x.rest, x.rang, x.allo, x.rename = false, 0, nil, 0, ""
	x.pbsz, x.private = false, false
	x.closeEndpoint()
}

// run serves commands until the peer quits, vanishes or times out.
func (x *session) run() {
	defer x.closeEndpoint()
	x.srv.log.Debug("session", "id", x.id, "peer", x.peer)
	x.send(220, "%s", x.srv.cfg.Banner)
	for !x.quit {
		in, err := x.next()
		if err != nil {
			x.farewell(err)
			return
		}
		if !x.write(x.dispatch(in)) {
			return
		}
		if after := x.after; after != nil {
			x.after = nil
			if err := after(); err != nil {
				x.srv.log.Info("TLS", "id", x.id, "peer", x.peer, "err", err)
				return
			}
		}
	}
}

// errDraining ends a session's wait for a command when the server drains.
var errDraining = errors.New("server is shutting down")

// next returns the next command; those that came during a transfer first.
func (x *session) next() (input, error) {
	if len(x.queue) > 0 {
		in := x.queue[0]
		x.queue = x.queue[1:]
		return in, nil
	}
	x.queue = nil
	// One deadline for the whole line: a peer that sends a byte now and then
	// gains nothing by it.
	deadline := x.start.Add(x.srv.cfg.Timeouts.Login)
	if x.loggedIn {
		deadline = time.Now().Add(x.srv.cfg.Timeouts.Idle)
	}
	if err := x.conn.SetReadDeadline(deadline); err != nil {
		return input{}, err
	}
	if x.srv.isDraining() { // after the deadline is set, so that wake isn't undone
		return input{}, errDraining
	}
	in, err := x.read()
	if err != nil && x.srv.isDraining() {
		err = errDraining
	}
	return in, err
}

// read returns the next command line from the connection.
func (x *session) read() (input, error) {
	for {
		for len(x.unread) > 0 {
			line, rest, done, err := x.lines.Next(x.unread)
			x.unread = rest
			if a := x.lines.Answers(); len(a) > 0 {
				x.writeBytes(a)
			}
			if !done {
				break
			}
			in := input{err: err}
			if err == nil {
				in.cmd, in.err = wire.ParseCommand(line)
			}
			return in, nil
		}
		n, err := x.conn.Read(x.buf[:])
		if x.unread = x.buf[:n]; n == 0 && err != nil {
			return input{}, err
		}
	}
}

// farewell says why we close the connection, where the peer can still hear it.
func (x *session) farewell(err error) {
	switch {
	case errors.Is(err, errDraining):
		x.send(421, "Server is shutting down, goodbye")
	case errors.Is(err, os.ErrDeadlineExceeded) && !x.loggedIn:
		x.send(421, "Login takes too long, goodbye")
	case errors.Is(err, os.ErrDeadlineExceeded):
		x.send(421, "Idle for too long, goodbye")
	}
	x.srv.log.Debug("session ends", "id", x.id, "peer", x.peer, "why", err)
}

// send writes a reply of one line.
func (x *session) send(code int, format string, args ...any) bool {
	return x.write(wire.NewReply(code, format, args...))
}

// write writes a reply; false means that the peer is gone or doesn't read.
func (x *session) write(r wire.Reply) bool {
	p := x.srv.buffers.Get().(*[]byte)
	*p = r.Append((*p)[:0])
	ok := x.writeBytes(*p)
	if cap(*p) <= 4<<10 {
		x.srv.buffers.Put(p)
	}
	return ok
}

func (x *session) writeBytes(b []byte) bool {
	x.out.Lock()
	defer x.out.Unlock()
	if err := x.conn.SetWriteDeadline(time.Now().Add(x.srv.cfg.Timeouts.Reply)); err != nil {
		return false
	}
	_, err := x.conn.Write(b)
	return err == nil
}

// wake ends an idle session's wait, so that it notices the drain; a transfer
// goes on.
func (x *session) wake() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.busy == nil {
		x.tcp.SetReadDeadline(past) // an error means that it is gone already
	}
}

// abandon ends the session and its transfer now.
func (x *session) abandon() {
	x.cancel()
	x.tcp.Close()
}

// past is a deadline that makes a blocked read return at once.
var past = time.Unix(1, 0)
