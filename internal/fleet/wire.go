package fleet

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// wire is a connection that carries messages both ways. A peer that says
// nothing, or takes nothing, for the time of silence breaks it.
type wire struct {
	conn    *tls.Conn
	in      *bufio.Reader
	silence time.Duration
	limit   int // bytes of an incoming message
	mu      sync.Mutex
}

func newWire(c *tls.Conn, silence time.Duration, limit int) *wire {
	return &wire{conn: c, in: bufio.NewReaderSize(c, 4<<10), silence: silence, limit: limit}
}

// greet performs the handshake within its time.
func (w *wire) greet(ctx context.Context) (tls.ConnectionState, Fingerprint, error) {
	ctx, stop := context.WithTimeout(ctx, handshake)
	defer stop()
	if err := w.conn.HandshakeContext(ctx); err != nil {
		return tls.ConnectionState{}, "", fmt.Errorf("TLS: %w", err)
	}
	state := w.conn.ConnectionState()
	return state, fingerprint(state.PeerCertificates[0].Raw), nil
}

func (w *wire) send(m message) error {
	line, err := appendMessage(m)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.conn.SetWriteDeadline(time.Now().Add(w.silence)); err != nil {
		return err
	}
	if _, err := w.conn.Write(line); err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return nil
}

func (w *wire) read() (message, error) {
	if err := w.conn.SetReadDeadline(time.Now().Add(w.silence)); err != nil {
		return message{}, err
	}
	m, err := readMessage(w.in, w.limit)
	switch {
	case err == nil, errors.Is(err, ErrProtocol):
		return m, err
	case isTimeout(err):
		return m, fmt.Errorf("silent for %v: %w", w.silence, ErrLost)
	}
	return m, fmt.Errorf("%w: %w", ErrLost, err)
}

// live sends signs of life until ctx ends or the connection breaks.
func (w *wire) live(ctx context.Context) {
	t := time.NewTicker(w.silence / 5)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if w.send(message{}) != nil {
				return // the reader sees it too
			}
		case <-ctx.Done():
			return
		}
	}
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}
