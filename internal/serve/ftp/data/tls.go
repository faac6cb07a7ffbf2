package data

import (
	"context"
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
// costs more than its encryption. After the handshake, what Write took is only
// sure to be on its way after Flush or CloseWrite. Files are sent by the
// kernel's TLS, where it has that.
type TLSConn struct {
	*tls.Conn
	gather *gather
}

// TLSServer does the handshake as the server over c. It fails when ctx ends.
// It uses a clone of conf: what should resume sessions of another connection
// needs WrapSession, UnwrapSession or SetSessionTicketKeys.
func TLSServer(ctx context.Context, c net.Conn, conf *tls.Config) (*TLSConn, error) {
	return secure(ctx, c, conf, tls.Server, "SERVER_TRAFFIC_SECRET_0")
}

// TLSClient does the handshake as the client over c. It fails when ctx ends.
func TLSClient(ctx context.Context, c net.Conn, conf *tls.Config) (*TLSConn, error) {
	return secure(ctx, c, conf, tls.Client, "CLIENT_TRAFFIC_SECRET_0")
}

func secure(ctx context.Context, c net.Conn, conf *tls.Config, side func(net.Conn, *tls.Config) *tls.Conn, label string) (*TLSConn, error) {
	g := &gather{Conn: c, secret: writeSecret{label: label}}
	if kernelTLS && conf.KeyLogWriter == nil { // else the secret is the caller's
		conf = conf.Clone()
		conf.KeyLogWriter = &g.secret
	}
	t := &TLSConn{side(g, conf), g}
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

	secret    writeSecret
	handshake []byte        // sent before start
	used      bool          // crypto/tls has sent since
	kernel    *kernelSender // sends instead of crypto/tls, once set

	rmu sync.Mutex
	r   []byte // read ahead
	rb  *[gatherSize]byte
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
}

func (g *gather) Write(p []byte) (int, error) {
	g.wmu.Lock()
	defer g.wmu.Unlock()
	switch {
	case g.kernel != nil:
		return 0, errKernelSends
	case g.wb == nil:
		if kernelTLS {
			g.handshake = append(g.handshake, p...)
		}
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

func (g *gather) Read(p []byte) (int, error) {
	g.rmu.Lock()
	defer g.rmu.Unlock()
	if len(g.r) == 0 {
		if g.rb == nil {
			g.rb = gatherBuffers.Get().(*[gatherSize]byte)
		}
		n, err := g.Conn.Read(g.rb[:])
		if n == 0 {
			if err == io.EOF {
				err = errTruncated
			}
			return 0, err
		}
		g.r = g.rb[:n]
	}
	n := copy(p, g.r)
	g.r = g.r[n:]
	return n, nil
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
	g.secret.forget()
	if g.wb != nil {
		gatherBuffers.Put(g.wb)
		g.w, g.wb = nil, nil
	}
	g.wmu.Unlock()
	g.rmu.Lock()
	if g.rb != nil {
		gatherBuffers.Put(g.rb)
		g.r, g.rb = nil, nil
	}
	g.rmu.Unlock()
}
