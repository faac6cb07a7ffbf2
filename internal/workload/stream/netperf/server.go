package netperf

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"syscall"
	"time"

	wire "github.com/linerate/linerate/internal/wire/netperf"
	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/result"
)

// idleTimeout is how long a control connection may say nothing between tests.
const idleTimeout = 120 * time.Second

// Server answers netperf 2.6 and later, several clients at once, and clients
// built with the classic tests.
type Server struct {
	Limit       int           // clients at once; more are closed. 0: 16
	MaxDuration time.Duration // of one test; 0: no limit
	Passphrase  string        // that a client must give first; "": none

	Log      *slog.Logger
	Finished func(Finished) // called after each test, also a failed one

	ln *net.TCPListener
}

// Finished is what a test came to.
type Finished struct {
	Client  net.Addr
	Request wire.Request
	Results wire.Results
	Err     error
}

// Text says it in one line.
func (f Finished) Text() string {
	if f.Err != nil {
		return fmt.Sprintf("%v: %v", f.Request.Type, f.Err)
	}
	r := f.Results
	bits := 0.0
	if r.Elapsed > 0 {
		bits = float64(r.BytesReceived+r.BytesSent) * 8 / r.Elapsed
	}
	return fmt.Sprintf("%v %.2f s  received %s  sent %s  %s  %d transactions", f.Request.Type, r.Elapsed,
		result.FormatSize(float64(r.BytesReceived)), result.FormatSize(float64(r.BytesSent)), result.FormatBits(bits), r.Transactions)
}

// Listen opens the control port.
func (s *Server) Listen(ctx context.Context, addr string) (net.Addr, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("netperf server: %w", err)
	}
	s.ln = ln.(*net.TCPListener)
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	return ln.Addr(), nil
}

// Serve answers until ctx ends.
func (s *Server) Serve(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer context.AfterFunc(ctx, func() { s.ln.Close() })()
	defer s.ln.Close()
	limit := s.Limit
	if limit == 0 {
		limit = 16
	}
	places := make(chan struct{}, limit)
	for {
		conn, err := stream.Accept(ctx, s.ln, s.Log)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("netperf server: %w", err)
		}
		select {
		case places <- struct{}{}:
			wg.Go(func() {
				defer func() { <-places }()
				defer conn.Close()
				if err := s.client(ctx, newControl(conn)); err != nil {
					s.Log.Warn("netperf client", "client", conn.RemoteAddr(), "err", err)
				}
			})
		default:
			conn.Close() // the protocol has no word for busy
		}
	}
}

// client serves one control connection: test after test.
func (s *Server) client(ctx context.Context, ctl control) error {
	defer ctl.until(ctx)()
	admitted := s.Passphrase == ""
	for {
		timeout := idleTimeout
		if !admitted {
			timeout = controlTimeout
		}
		m, err := ctl.get(timeout)
		switch {
		case errors.Is(err, io.EOF), ctx.Err() != nil:
			return nil
		case err != nil:
			return ctl.fail("waiting for a request", err)
		}
		if !admitted {
			if m.Type() != wire.Passphrase || subtle.ConstantTimeCompare([]byte(m.PassphraseText()), []byte(s.Passphrase)) != 1 {
				return ctl.fail("passphrase", errors.New("wrong or missing"))
			}
			admitted = true
			continue
		}
		if err := s.answer(ctx, ctl, m); err != nil {
			return err
		}
	}
}

// answer serves one message.
func (s *Server) answer(ctx context.Context, ctl control, m *wire.Message) error {
	switch m.Type() {
	case wire.Passphrase: // a server without one passes over it
		return nil
	case wire.DebugOn, wire.DebugOff:
		return ctl.put(wire.Debug())
	case wire.CPUCalibrate:
		return ctl.put(wire.Calibrated(1, runtime.NumCPU()))
	}
	q, err := wire.ParseRequest(m)
	if err == nil && s.MaxDuration > 0 && (q.Length <= 0 || time.Duration(q.Length)*time.Second > s.MaxDuration) {
		err = fmt.Errorf("%w: longer than %v", wire.ErrMessage, s.MaxDuration)
	}
	if err != nil {
		return ctl.fail("request", errors.Join(err, ctl.put(wire.Failure(m.Type(), int32(syscall.EINVAL)))))
	}
	r, err := s.run(ctx, ctl, q)
	if s.Finished != nil {
		s.Finished(Finished{Client: ctl.RemoteAddr(), Request: q, Results: r, Err: err})
	}
	return err
}

// run does one test and sends its results.
func (s *Server) run(ctx context.Context, ctl control, q wire.Request) (wire.Results, error) {
	d, err := listen(ctx, q, ctl.LocalAddr(), ctl.RemoteAddr())
	if err != nil {
		return wire.Results{}, ctl.fail("data port", errors.Join(err, ctl.put(wire.Failure(q.Type, int32(errnoOf(err))))))
	}
	defer d.close()
	if err := ctl.put(d.response().Message(q.Type)); err != nil {
		return wire.Results{}, ctl.fail("response", err)
	}
	here, release := ctl.watch(ctx)
	before := readCPU()
	r, err := d.run(here)
	r.CPUs = int32(runtime.NumCPU())
	readCPU().since(before, &r)
	if err == nil && here.Err() != nil {
		err = context.Cause(here)
	}
	release()
	if err != nil {
		return r, ctl.fail("data phase", err)
	}
	if err := ctl.put(r.Message(q.Type)); err != nil {
		return r, ctl.fail("results", err)
	}
	return r, nil
}

func errnoOf(err error) syscall.Errno {
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e
	}
	return syscall.EINVAL
}
