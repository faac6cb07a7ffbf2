package iperf3

import (
	"cmp"
	"context"
	"crypto/rsa"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	wire "github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/internal/workload/stream"
)

// maxWaiting bounds the connections that have not said yet what they are.
const maxWaiting = 256

// Server answers iperf3 and linerate clients, several at once: what belongs to
// which test is told by the cookie, for UDP by the client's address.
type Server struct {
	Limit       int           // tests at once; more are answered ACCESS_DENIED. 0: 16
	Timeout     time.Duration // of each step of a client; 0: DefaultTimeout
	MaxDuration time.Duration
	MaxRate     float64 // of all streams of a test together, bit/s; 0: no limit

	// Authentication is asked for where Key is set.
	Key   *rsa.PrivateKey
	Users wire.Users
	Skew  time.Duration

	Log      *slog.Logger
	Finished func(Finished) // called after each test, also a failed one

	mu    sync.Mutex
	tests map[wire.Cookie]*test
	tcp   *net.TCPListener
	udp   *udpPort
	algo  sync.Mutex // held while the listener has a test's congestion control
}

// Finished is what a test came to.
type Finished struct {
	Client  net.Addr
	Test    stream.Test
	Outcome stream.Outcome
	Err     error
}

// Listen opens the TCP port and the UDP port of the same number. Port 0 takes
// one that is free for both.
func (s *Server) Listen(ctx context.Context, addr string) (net.Addr, error) {
	ln, err := (stream.Socket{}).Listen(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("iperf3 server: %w", err)
	}
	s.tcp = ln.(*net.TCPListener)
	if s.udp, err = listenUDP(ctx, ln.Addr().(*net.TCPAddr)); err != nil {
		ln.Close()
		return nil, fmt.Errorf("iperf3 server: %w", err)
	}
	s.tests = map[wire.Cookie]*test{}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	return ln.Addr(), nil
}

// Serve answers until ctx ends; it returns after the tests under way were told
// so.
func (s *Server) Serve(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer context.AfterFunc(ctx, func() { s.tcp.Close(); s.udp.close() })()
	defer s.tcp.Close()
	wg.Go(s.udp.serve)
	waiting := make(chan struct{}, maxWaiting)
	var accepted int64
	for {
		conn, err := stream.Accept(ctx, s.tcp, s.Log)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("iperf3 server: %w", err)
		}
		select {
		case waiting <- struct{}{}:
			accepted++
			a := arrival{conn, accepted}
			wg.Go(func() { s.sort(ctx, a, func() { <-waiting }) })
		default:
			conn.Close()
		}
	}
}

// arrival is a new connection with its place in the order of acceptance, which
// is all that tells the streams of a test apart. Their cookies are read side by
// side, and may come in any order.
type arrival struct {
	net.Conn
	place int64
}

// sort finds out what a new connection is: a stream of a test that waits for
// it, or the control connection of a new one.
func (s *Server) sort(ctx context.Context, a arrival, sorted func()) {
	conn := a.Conn
	var cookie wire.Cookie
	err := conn.SetReadDeadline(time.Now().Add(cmp.Or(s.Timeout, DefaultTimeout)))
	if err == nil {
		_, err = io.ReadFull(conn, cookie[:])
	}
	sorted()
	if err != nil {
		s.Log.Debug("connection without a cookie", "client", conn.RemoteAddr(), "err", err)
		conn.Close()
		return
	}
	t, known := s.admit(cookie, conn)
	switch {
	case known && t.offer(a): // the test closes it
	case known || t == nil:
		deny(conn)
	default:
		defer s.forget(cookie)
		defer conn.Close()
		err := t.run(ctx)
		if err != nil {
			s.Log.Warn("test failed", "client", conn.RemoteAddr(), "err", err)
		}
		if s.Finished != nil {
			s.Finished(Finished{Client: conn.RemoteAddr(), Test: t.test, Outcome: t.outcome, Err: err})
		}
	}
}

// admit returns the test of a cookie, known where it runs already; nil where
// the server is at its limit.
func (s *Server) admit(cookie wire.Cookie, conn net.Conn) (t *test, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.tests[cookie]; ok {
		return t, true
	}
	if len(s.tests) >= cmp.Or(s.Limit, 16) {
		return nil, false
	}
	t = &test{srv: s, ctl: newControl(conn, s.Timeout)}
	s.tests[cookie] = t
	return t, false
}

func (s *Server) forget(cookie wire.Cookie) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tests, cookie)
}

// deny refuses a connection.
func deny(conn net.Conn) {
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	denied := wire.AccessDenied
	_, _ = conn.Write([]byte{byte(denied)}) // it is closed either way
	conn.Close()
}
