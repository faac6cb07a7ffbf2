package data

import (
	"context"
	"crypto/fips140"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// TLSConn is a TLS data connection, made by TLSServer or TLSClient. A TLS
// record holds 16 KiB at most (RFC 8446 5.1); here records are gathered into
// large writes and read ahead in large reads, for a system call per record
// costs more than its encryption; under TLS 1.3 they are made and opened where
// the payload comes from and goes to, which spares crypto/tls's copies. After the handshake, what Write took is only
// sure to be on its way after Flush or CloseWrite. Files are sent by the
// kernel's TLS, where it has that.
type TLSConn struct {
	*tls.Conn
	gather *gather
	server bool
}

// TLSServer does the handshake as the server over c. It fails when ctx ends.
// It uses a clone of conf: what should resume sessions of another connection
// needs WrapSession, UnwrapSession or SetSessionTicketKeys.
func TLSServer(ctx context.Context, c net.Conn, conf *tls.Config) (*TLSConn, error) {
	return secure(ctx, c, conf, tls.Server, secrets{own: "SERVER_TRAFFIC_SECRET_0", peer: "CLIENT_TRAFFIC_SECRET_0"})
}

// TLSClient does the handshake as the client over c. It fails when ctx ends.
func TLSClient(ctx context.Context, c net.Conn, conf *tls.Config) (*TLSConn, error) {
	return secure(ctx, c, conf, tls.Client, secrets{own: "CLIENT_TRAFFIC_SECRET_0", peer: "SERVER_TRAFFIC_SECRET_0"})
}

func secure(ctx context.Context, c net.Conn, conf *tls.Config, side func(net.Conn, *tls.Config) *tls.Conn, s secrets) (*TLSConn, error) {
	g := &gather{Conn: c, secrets: s}
	if conf.KeyLogWriter == nil && !fips140.Enabled() { // else the secrets are the caller's, or the module's
		conf = conf.Clone()
		conf.KeyLogWriter = &g.secrets
	}
	t := &TLSConn{side(g, conf), g, s.own[0] == 'S'}
	if err := t.HandshakeContext(ctx); err != nil {
		g.free()
		return nil, err
	}
	g.start()
	return t, nil
}

// NetConn returns the connection below TLS.
func (t *TLSConn) NetConn() net.Conn { return t.gather.Conn }

// SetWriteDeadline is that of the connection below.
func (t *TLSConn) SetWriteDeadline(d time.Time) error { return t.gather.Conn.SetWriteDeadline(d) }

// Flush sends what is gathered.
func (t *TLSConn) Flush() error { return t.gather.flush() }

// CloseWrite sends what is gathered, close_notify (RFC 8446 6.1) and FIN.
func (t *TLSConn) CloseWrite() error {
	if err := t.closeNotify(); err != nil {
		return err
	}
	if h, ok := t.gather.Conn.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return nil
}

func (t *TLSConn) closeNotify() error {
	if k := t.gather.kernel; k != nil {
		return k.closeNotify()
	}
	if done, err := t.gather.closeRecords(); done {
		return err
	}
	return errors.Join(t.Conn.CloseWrite(), t.gather.flush())
}

// Close closes the connection below. It sends no close_notify, which only
// CloseWrite does: a peer must not take a transfer that broke off for whole.
func (t *TLSConn) Close() error {
	err := t.gather.Conn.Close()
	t.gather.free()
	return err
}

// netConn returns the connection below TLS, or c.
func netConn(c net.Conn) net.Conn {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		return t.NetConn()
	}
	return c
}

// gather is the connection below TLS. It holds writes back until there is
// enough, or flush; and reads as much as there is.
type gather struct {
	net.Conn

	wmu sync.Mutex
	w   []byte // gathered; nil until start and after free
	wb  *[gatherSize]byte

	secrets   secrets
	handshake []byte        // sent before start
	used      bool          // crypto/tls has sent since
	kernel    *kernelSender // sends instead of crypto/tls, once set
	out       *records      // makes records instead of crypto/tls, once set
	ending    bool          // it has made close_notify

	rmu    sync.Mutex
	r      []byte // read ahead
	rb     *[gatherSize]byte
	left   int      // bytes to come of the record that crypto/tls is reading
	begun  bool     // the handshake is over
	given  uint64   // records that crypto/tls has begun to read since
	taken  bool     // crypto/tls has given what it read of content
	in     *records // opens records instead of crypto/tls, once set
	rest   []byte   // opened and not yet taken
	rested []byte   // what rest is part of
	ended  error    // why there is no more
}

// SetWriteDeadline ignores crypto/tls, which lets the deadline pass after
// close_notify: that is still to be flushed.
func (g *gather) SetWriteDeadline(time.Time) error { return nil }

// errTruncated stands for an end without close_notify, which crypto/tls lets
// pass for the end of the stream between two records: a file cut off there
// would be taken for whole (RFC 8446 6.1).
var errTruncated = fmt.Errorf("TLS stream without close_notify: %w", io.ErrUnexpectedEOF)

// gatherSize is where larger writes stop paying.
const gatherSize = 256 << 10

var gatherBuffers = sync.Pool{New: func() any { return new([gatherSize]byte) }}

// start begins to gather; the handshake before it needs each flight at once.
func (g *gather) start() {
	g.wmu.Lock()
	defer g.wmu.Unlock()
	g.wb = gatherBuffers.Get().(*[gatherSize]byte)
	g.w = g.wb[:0]
	g.rmu.Lock()
	defer g.rmu.Unlock()
	g.begun = true
}

func (g *gather) Write(p []byte) (int, error) {
	g.wmu.Lock()
	defer g.wmu.Unlock()
	switch {
	case g.kernel != nil || g.out != nil:
		return 0, errTakenOver
	case g.wb == nil:
		g.handshake = append(g.handshake, p...)
		return g.Conn.Write(p)
	}
	g.used = true
	if len(g.w)+len(p) > gatherSize {
		if err := g.flushLocked(); err != nil {
			return 0, err
		}
		if len(p) > gatherSize {
			return g.Conn.Write(p)
		}
	}
	g.w = append(g.w, p...)
	return len(p), nil
}

func (g *gather) flush() error {
	g.wmu.Lock()
	defer g.wmu.Unlock()
	return g.flushLocked()
}

func (g *gather) flushLocked() error {
	if len(g.w) == 0 {
		return nil
	}
	_, err := g.Conn.Write(g.w)
	g.w = g.w[:0]
	return err
}

// Read gives crypto/tls one record at a time, so that the next can be opened by
// us.
func (g *gather) Read(p []byte) (int, error) {
	g.rmu.Lock()
	defer g.rmu.Unlock()
	if g.left == 0 {
		if err := g.ahead(recordHeader); err != nil {
			return 0, err
		}
		g.left = recordSize(g.r)
		if g.begun {
			g.given++
		}
	} else if err := g.ahead(1); err != nil {
		return 0, err
	}
	n := copy(p, g.r[:min(len(g.r), g.left)])
	g.r = g.r[n:]
	g.left -= n
	return n, nil
}

// ahead sees to it that n bytes are read ahead.
func (g *gather) ahead(n int) error {
	if g.rb == nil {
		g.rb = gatherBuffers.Get().(*[gatherSize]byte)
	}
	if len(g.r) < n && cap(g.r) < gatherSize {
		g.r = g.rb[:copy(g.rb[:], g.r)]
	}
	for len(g.r) < n {
		m, err := g.Conn.Read(g.rb[len(g.r):])
		g.r = g.rb[:len(g.r)+m]
		if m > 0 {
			continue
		}
		if err == io.EOF {
			err = errTruncated
		}
		return err
	}
	return nil
}

// below changes the connection below TLS for c, of the same socket.
func (g *gather) below(c net.Conn) {
	g.wmu.Lock()
	defer g.wmu.Unlock()
	g.rmu.Lock()
	defer g.rmu.Unlock()
	g.Conn = c
}

// free gives the buffers back, once the connection is closed and so nothing
// waits in it any more.
func (g *gather) free() {
	g.wmu.Lock()
	forget(&g.secrets.write)
	g.out = nil
	if g.wb != nil {
		gatherBuffers.Put(g.wb)
		g.w, g.wb = nil, nil
	}
	g.wmu.Unlock()
	g.rmu.Lock()
	forget(&g.secrets.read)
	g.in, g.rest, g.rested, g.ended = nil, nil, nil, net.ErrClosed
	if g.rb != nil {
		gatherBuffers.Put(g.rb)
		g.r, g.rb = nil, nil
	}
	g.rmu.Unlock()
}
