package ftp

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/data"
)

// errNotResumed refuses a data connection that isn't of its control
// connection's TLS session.
var errNotResumed = errors.New("TLS session of the control connection not resumed")

// tlsSession is what the control connection and its data connections share: a
// configuration whose session tickets carry the session's own name. Only who
// holds the secrets of this control connection can resume such a ticket, with
// TLS 1.2 and 1.3 alike.
type tlsSession struct {
	raw  *recordConn // below conn
	conn *tls.Conn
	conf *tls.Config
	name []byte
}

func newTLSSession(base *tls.Config) *tlsSession {
	t := &tlsSession{conf: base.Clone(), name: make([]byte, 16)}
	_, _ = rand.Read(t.name) // never fails since Go 1.24
	tickets := base
	t.conf.WrapSession = func(cs tls.ConnectionState, s *tls.SessionState) ([]byte, error) {
		if !t.owns(s) {
			s.Extra = append(s.Extra, t.name)
		}
		return tickets.EncryptTicket(cs, s)
	}
	t.conf.UnwrapSession = func(identity []byte, cs tls.ConnectionState) (*tls.SessionState, error) {
		s, err := tickets.DecryptTicket(identity, cs)
		if err != nil || s == nil || !t.owns(s) {
			return nil, err // a full handshake follows
		}
		return s, nil
	}
	return t
}

func (t *tlsSession) owns(s *tls.SessionState) bool {
	for _, e := range s.Extra {
		if bytes.Equal(e, t.name) {
			return true
		}
	}
	return false
}

// startTLS does the handshake on the control connection.
func (x *session) startTLS() error {
	t := newTLSSession(x.srv.cfg.TLS)
	t.raw = &recordConn{Conn: x.tcp}
	t.conn = tls.Server(t.raw, t.conf)
	if err := x.tcp.SetDeadline(time.Now().Add(x.srv.cfg.Timeouts.Connect)); err != nil {
		return err
	}
	if err := t.conn.HandshakeContext(x.ctx); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	acknowledge(x.tcp)
	x.out.Lock()
	defer x.out.Unlock()
	x.conn, x.tls, x.dataTLS = t.conn, t, t
	return x.tcp.SetDeadline(time.Time{})
}

// cccWait is how long the client gets to end TLS first after CCC.
const cccWait = time.Second

// endTLS goes back to clear. RFC 4217 12.3 leaves open who sends close_notify
// first, and clients differ: lftp takes one that comes with our reply for the
// end of the connection, curl in its passive mode waits for ours and never
// sends one. So the client's is awaited for a while, then ours is sent; what
// then comes is close_notify or the next command.
func (x *session) endTLS() error {
	first, err := x.tls.raw.peek(cccWait)
	late := isTimeout(err)
	if late {
		if err := x.tls.conn.CloseWrite(); err != nil {
			return err
		}
		first, err = x.tls.raw.peek(x.srv.cfg.Timeouts.Idle)
	}
	if err != nil {
		return fmt.Errorf("end of TLS: %w", err)
	}
	x.unread = nil
	if !isRecord(first) {
		x.unread = append(x.buf[:0], first)
	} else if n, err := x.tls.conn.Read(x.buf[:]); n > 0 || err != io.EOF {
		return fmt.Errorf("end of TLS: want close_notify, got %d bytes, %v", n, err)
	}
	if !late {
		if err := x.tls.conn.CloseWrite(); err != nil {
			return err
		}
	}
	x.out.Lock()
	defer x.out.Unlock()
	x.conn, x.tls = x.tcp, nil
	return nil
}

// protect does the handshake on a data connection. It comes after the 150
// reply (RFC 4217 7): clients wait for that before they begin it.
func (x *session) protect(ctx context.Context, c net.Conn) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, x.srv.cfg.Timeouts.Connect)
	defer cancel()
	d, err := data.TLSServer(ctx, c, x.dataTLS.conf)
	if err != nil {
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	if x.srv.cfg.RequireReuse && !d.ConnectionState().DidResume {
		d.Close()
		return nil, errNotResumed
	}
	return d, nil
}

// recordConn gives TLS one record at a time, so that text which follows the
// last record (CCC) is left in the socket.
type recordConn struct {
	net.Conn
	header [5]byte // RFC 8446 5.1: type, version, length
	have   int     // bytes of header that were read
	given  int     // bytes of header that were handed on
	left   int     // bytes of the record's body to come
}

// isRecord tells the first byte of a record that may hold an alert, in TLS 1.3
// encrypted as data is (RFC 8446 5.1), from that of a command.
func isRecord(first byte) bool { return first == 21 || first == 23 }

// peek waits for the first byte of the next record.
func (c *recordConn) peek(wait time.Duration) (byte, error) {
	if err := c.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return 0, err
	}
	c.have, c.given = 0, 0
	n, err := c.Conn.Read(c.header[:1])
	if n == 0 {
		return 0, err
	}
	c.have = 1
	return c.header[0], nil
}

func (c *recordConn) Read(b []byte) (int, error) {
	if c.left == 0 && c.given == len(c.header) {
		c.have, c.given = 0, 0
	}
	if c.have < len(c.header) {
		n, err := c.Conn.Read(c.header[c.have:])
		c.have += n
		if c.have == len(c.header) {
			c.left = int(binary.BigEndian.Uint16(c.header[3:]))
		}
		if n == 0 && err != nil {
			return 0, err
		}
	}
	if c.given < c.have {
		n := copy(b, c.header[c.given:c.have])
		c.given += n
		return n, nil
	}
	n, err := c.Conn.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}
