// Package iperf3 is the iperf3 dialect of package stream, as client and as
// server. Between two linerate ends the same exchange carries more: see
// wire/iperf3.Extension and Detail.
package iperf3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	wire "github.com/linerate/linerate/internal/wire/iperf3"
)

// DefaultTimeout is how long a peer may take for each step of the exchange.
const DefaultTimeout = 10 * time.Second

// Errors that callers tell apart.
var (
	ErrBusy       = errors.New("the server is busy with another test, or refused the cookie; try again later")
	ErrTerminated = errors.New("the peer was stopped")
	ErrRefused    = errors.New("the server refused the test and gave no number; releases to 3.16 do so when authorization fails")
	ErrProtocol   = errors.New("unexpected iperf3 message")
)

// control is the control connection and the state that the test is in.
type control struct {
	net.Conn
	phase   atomic.Int32  // wire.State; the watcher of a running test reads it too
	timeout time.Duration // of each step
}

func newControl(c net.Conn, timeout time.Duration) *control {
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	return &control{Conn: c, timeout: timeout}
}

// fail names the state in which err happened.
func (c *control) fail(what string, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("the peer was silent for %v: %w", c.timeout, err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("the peer closed the control connection: %w", err)
	}
	return fmt.Errorf("iperf3 %s: in %v: %s: %w", c.RemoteAddr(), wire.State(c.phase.Load()), what, err)
}

// until makes the end of ctx interrupt what the connection is doing; the
// caller calls the returned function when it is done with ctx.
func (c *control) until(ctx context.Context) func() bool {
	return context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
}

func (c *control) readState() (wire.State, error) {
	if err := c.deadline(c.timeout); err != nil {
		return 0, err
	}
	var b [1]byte
	_, err := io.ReadFull(c, b[:])
	return wire.State(int8(b[0])), err
}

// deadline allows timeout for what follows, 0 any time.
func (c *control) deadline(timeout time.Duration) error {
	if timeout == 0 {
		return c.SetDeadline(time.Time{})
	}
	return c.SetDeadline(time.Now().Add(timeout))
}

// enter sends a state and remembers it.
func (c *control) enter(s wire.State) error {
	c.phase.Store(int32(s))
	return c.put([]byte{byte(s)})
}

func (c *control) put(b []byte) error {
	if err := c.deadline(c.timeout); err != nil {
		return err
	}
	_, err := c.Write(b)
	return err
}

func (c *control) putDocument(v any) error {
	b, err := wire.Frame(v)
	if err != nil {
		return err
	}
	return c.put(b)
}

func (c *control) document(limit int) ([]byte, error) {
	if err := c.deadline(c.timeout); err != nil {
		return nil, err
	}
	var head [wire.LengthLen]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return nil, err
	}
	n, err := wire.Length(head, limit)
	if err != nil {
		return nil, err
	}
	// The buffer grows with what arrives, not with what was announced.
	b, err := io.ReadAll(io.LimitReader(c, int64(n)))
	if err == nil && len(b) < n {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// expect reads the next state, which must be want.
func (c *control) expect(want wire.State) error {
	s, err := c.readState()
	if err != nil {
		return c.fail("waiting for "+want.String(), err)
	}
	if s != want {
		return c.unexpected(s)
	}
	c.phase.Store(int32(s))
	return nil
}

// unexpected makes the error for a state that breaks the test off.
func (c *control) unexpected(s wire.State) error {
	switch s {
	case wire.AccessDenied:
		return c.fail(s.String(), ErrBusy)
	case wire.ServerTerminate, wire.ClientTerminate:
		return c.fail(s.String(), ErrTerminated)
	case wire.ServerError:
		var b [wire.ErrorLen]byte
		if _, err := io.ReadFull(c, b[:]); err != nil {
			return c.fail(s.String(), ErrRefused)
		}
		return c.fail("the server refused", wire.ParseError(b))
	}
	return c.fail(s.String(), ErrProtocol)
}
