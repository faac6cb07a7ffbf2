package ftp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// acceptPause is the wait after an Accept that failed for want of descriptors
// or memory; the next attempt may find some.
const acceptPause = 50 * time.Millisecond

// Serve accepts control connections from l until ctx ends or Shutdown is
// called, and returns when every session it started has ended. implicit
// starts TLS before the greeting, as on port 990.
func (s *Server) Serve(ctx context.Context, l net.Listener, implicit bool) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close()
	var sessions sync.WaitGroup
	defer sessions.Wait()
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			sessions.Go(func() { s.serveConn(ctx, c, implicit) })
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			s.log.Warn("accept", "err", err)
			time.Sleep(acceptPause)
		}
		if s.isDraining() {
			return nil
		}
	}
}

// serveConn runs the session of c.
func (s *Server) serveConn(ctx context.Context, c net.Conn, implicit bool) {
	defer c.Close()
	inlineUrgent(c)
	keepAlive(c)
	x := newSession(ctx, s, c)
	defer x.cancel()
	if reason := s.admit(x); reason != "" {
		s.counters.refused(reason)
		s.log.Info("refused", "peer", x.peer, "reason", reason)
		if !implicit { // a TLS handshake is more than a refusal is worth
			x.send(421, "Too many connections or shutting down, try again later")
		}
		return
	}
	defer s.release(x)
	if implicit {
		if err := x.startTLS(); err != nil {
			s.log.Info("TLS handshake", "peer", x.peer, "err", err)
			return
		}
		// RFC 4217 leaves implicit mode out; clients expect private data there.
		x.private = true
	}
	x.run()
}

// Shutdown drains the server: no new sessions, idle ones are told 421, those
// with a transfer may finish it until ctx ends, and then are cut off; what
// they were uploading stays resumable. The listeners are the caller's to
// close.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	for x := range s.sessions {
		x.wake()
	}
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for x := range s.sessions {
			x.abandon()
		}
	})
	defer stop()
	for len(s.sessions) > 0 {
		s.idle.Wait()
	}
	return ctx.Err()
}

func (s *Server) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// keepAlive has the kernel probe c while it is idle: a control connection is
// silent during a long transfer, and some NATs forget such a one after 5
// minutes. The probes find a peer that is gone within two. An error shows again
// at the first read.
func keepAlive(c net.Conn) {
	if t, ok := rawConn(c).(*net.TCPConn); ok {
		_ = t.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 15 * time.Second, Count: 4})
	}
}

// addrOf returns the address and port of a, IPv4 in IPv6 unmapped, so that
// addresses compare as people write them.
func addrOf(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		ap := t.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	ap, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// rawConn returns the TCP connection below wrappers such as PROXY protocol's.
func rawConn(c net.Conn) net.Conn {
	for {
		switch w := c.(type) {
		case interface{ NetConn() net.Conn }:
			c = w.NetConn()
		case interface{ Raw() net.Conn }: // proxyproto.Conn
			c = w.Raw()
		default:
			return c
		}
	}
}

var _ interface{ NetConn() net.Conn } = (*tls.Conn)(nil)
