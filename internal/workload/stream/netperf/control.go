// Package netperf is the netperf dialect of package stream, as client and as
// server: streams both ways, and request/response tests.
package netperf

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	wire "github.com/linerate/linerate/internal/wire/netperf"
)

// Port is the default control port.
const Port = wire.Port

// controlTimeout bounds how long a peer may take for an answer; netperf waits
// 120 s.
const controlTimeout = 20 * time.Second

// The errors that callers tell apart.
var (
	ErrOldPeer = errors.New("the peer is netperf 2.5 or older, whose messages have 256 bytes; it takes 2.6 or later")
	ErrRefused = errors.New("the server refused the test")
)

// errGone ends a test whose client closed the control connection.
var errGone = errors.New("the client went away")

// control is a control connection.
type control struct {
	net.Conn
	in *bufio.Reader
}

func newControl(c net.Conn) control { return control{c, bufio.NewReaderSize(c, wire.Size)} }

// fail names the phase in which err happened.
func (c control) fail(phase string, err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("the peer was silent: %w", err)
	case errors.Is(err, io.EOF):
		err = fmt.Errorf("the peer closed the control connection: %w", err)
	}
	return fmt.Errorf("netperf %s: %s: %w", c.RemoteAddr(), phase, err)
}

// until makes the end of ctx interrupt what the connection is doing.
func (c control) until(ctx context.Context) func() bool {
	return context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
}

func (c control) put(m *wire.Message) error {
	if err := c.SetDeadline(time.Now().Add(controlTimeout)); err != nil {
		return err
	}
	_, err := c.Write(m[:])
	return err
}

// get reads one message within timeout; 0 waits for ever. A peer that stops
// after 256 bytes is an old one.
func (c control) get(timeout time.Duration) (*wire.Message, error) {
	var at time.Time
	if timeout > 0 {
		at = time.Now().Add(timeout)
	}
	if err := c.SetDeadline(at); err != nil {
		return nil, err
	}
	var m wire.Message
	if n, err := io.ReadAtLeast(c.in, m[:], wire.OldSize); err != nil {
		return nil, err
	} else if n < wire.Size {
		if err := c.SetDeadline(time.Now().Add(min(controlTimeout, 2*time.Second))); err != nil {
			return nil, err
		}
		if rest, err := io.ReadFull(c.in, m[n:]); err != nil {
			if n+rest == wire.OldSize {
				return nil, ErrOldPeer
			}
			return nil, err
		}
	}
	return &m, nil
}

// getAnswer reads an answer and turns its error number into an error.
func (c control) getAnswer(timeout time.Duration) (*wire.Message, error) {
	m, err := c.get(timeout)
	if err != nil {
		return nil, err
	}
	if e := m.Errno(); e != 0 {
		return nil, fmt.Errorf("%w: error %d of its system", ErrRefused, e)
	}
	return m, nil
}

// watch returns a context that ends when the peer closes the connection, while
// neither side has anything to say. Call release before the next message.
func (c control) watch(ctx context.Context) (here context.Context, release func()) {
	here, stop := context.WithCancelCause(ctx)
	done := make(chan struct{})
	_ = c.SetReadDeadline(time.Time{}) // fails on a closed connection, as Peek will
	go func() {
		defer close(done)
		if _, err := c.in.Peek(1); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			stop(errGone)
		}
	}()
	return here, func() {
		_ = c.SetReadDeadline(time.Unix(1, 0))
		<-done
		stop(nil)
	}
}
