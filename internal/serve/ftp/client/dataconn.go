package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/internal/wire/ftp"
)

// opening is a data connection about to be: connected in passive mode,
// listened for in active mode.
type opening struct {
	conn net.Conn
	ln   net.Listener
	peer netip.Addr
	stop func() // of Config.Watch
}

// prepare agrees with the server on a data connection for the next transfer.
func (c *Conn) prepare(ctx context.Context) (*opening, error) {
	if c.cfg.Active {
		return c.listen(ctx)
	}
	var failed error
	for _, mode := range []struct {
		off  *bool
		port func(context.Context) (uint16, error)
	}{{&c.odd.noEPSV, c.epsv}, {&c.odd.noPASV, c.pasv}} {
		if *mode.off {
			continue
		}
		port, err := mode.port(ctx)
		if err != nil {
			*mode.off = unknown(err)
		} else {
			// Always to the server's own address: the one in a PASV reply is
			// private behind NAT and anyone's choice from a hostile server.
			at := netip.AddrPortFrom(c.peer().Addr(), port)
			var conn net.Conn
			if conn, err = c.cfg.dial(ctx, at.String()); err == nil {
				return &opening{conn: conn}, nil
			}
			err = fmt.Errorf("data connection: %w", err)
		}
		if failed = errors.Join(failed, err); c.broken != nil || ctx.Err() != nil {
			break
		}
	}
	if failed == nil {
		failed = errors.New("server has neither EPSV nor PASV; try --active")
	}
	return nil, failed
}

// epsv asks for a passive port in the way that also works over IPv6 and NAT
// (RFC 2428 3).
func (c *Conn) epsv(ctx context.Context) (uint16, error) {
	r, err := c.do(ctx, "EPSV", "")
	if err != nil {
		return 0, err
	}
	return ftp.ParseEPSV(r.Text())
}

func (c *Conn) pasv(ctx context.Context) (uint16, error) {
	if c.peer().Addr().Is6() {
		c.odd.noPASV = true
		return 0, errors.New("PASV cannot carry an IPv6 address")
	}
	r, err := c.do(ctx, "PASV", "")
	if err != nil {
		return 0, err
	}
	at, err := ftp.ParsePASV(r.Text())
	if err == nil && at.Addr() != c.peer().Addr() {
		c.cfg.Log.Debug("PASV reply names another address; not used", "address", at)
	}
	return at.Port(), err
}

// listen opens a port for the server to connect to: PORT over IPv4, which old
// boards know too, EPRT over IPv6.
func (c *Conn) listen(ctx context.Context) (*opening, error) {
	local := addrPort(c.tcp.LocalAddr()).Addr()
	ln, err := c.cfg.Network.Listen(ctx, "tcp", netip.AddrPortFrom(local, 0).String())
	if err != nil {
		return nil, fmt.Errorf("active mode: %w", err)
	}
	at := netip.AddrPortFrom(local, addrPort(ln.Addr()).Port())
	if local.Is4() {
		_, err = c.do(ctx, "PORT", ftp.FormatPort(at))
	} else {
		_, err = c.do(ctx, "EPRT", ftp.FormatEPRT(at))
	}
	if err != nil {
		_ = ln.Close()
		return nil, fmt.Errorf("active mode: %w", err)
	}
	return &opening{ln: ln, peer: c.peer().Addr()}, nil
}

// open completes the data connection, with TLS on it where that was agreed.
func (c *Conn) open(ctx context.Context, o *opening) error {
	if o.ln != nil {
		if err := o.accept(ctx, c.cfg.Timeout); err != nil {
			return fmt.Errorf("active mode: wait for the server to connect: %w", err)
		}
	}
	if c.cfg.Watch != nil {
		o.stop = c.cfg.Watch(o.conn)
	}
	if !c.private {
		return nil
	}
	_ = o.conn.SetDeadline(time.Now().Add(c.cfg.Timeout))
	t, err := data.TLSClient(ctx, o.conn, c.tls)
	if err != nil {
		return fmt.Errorf("data connection: %w", tlsError(err))
	}
	o.conn = t
	return t.SetDeadline(time.Time{})
}

// accept waits for the server and turns away everyone else.
func (o *opening) accept(ctx context.Context, wait time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("not within %v; a firewall may be in the way, try passive mode: %w", wait, data.ErrStalled))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = o.ln.Close() })
	defer stop()
	for {
		conn, err := o.ln.Accept()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if addrPort(conn.RemoteAddr()).Addr() == o.peer {
			o.conn = conn
			return nil
		}
		_ = conn.Close()
	}
}

// close ends the data connection in order, with close_notify where there is
// TLS. It may be called again.
func (o *opening) close() {
	if o.ln != nil {
		_ = o.ln.Close()
	}
	if o.stop != nil {
		o.stop()
		o.stop = nil
	}
	if o.conn != nil {
		if t, ok := o.conn.(*data.TLSConn); ok {
			_ = t.CloseWrite()
		}
		_ = o.conn.Close()
	}
}

// abort ends it with a reset and without close_notify: an orderly end would
// pass a broken upload off as a whole one.
func (o *opening) abort() {
	o.conn = beneath(o.conn)
	if t, ok := o.conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	o.close()
}

// beneath returns the connection that carries TLS, or conn.
func beneath(conn net.Conn) net.Conn {
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
		return t.NetConn()
	}
	return conn
}
