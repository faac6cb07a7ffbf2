package data

import (
	"fmt"
	"net"
	"syscall"
)

// lowWater is what a receiver lets come together before it wakes up: fewer
// wake-ups cost less than the wait delays.
const lowWater = 128 << 10

// socket returns the TCP socket of a connection without anything on top.
func (t *transfer) socket() (syscall.Conn, bool) {
	switch c := t.conn.(type) {
	case *net.TCPConn:
		return c, true
	case *direct:
		return c, true
	}
	return nil, false
}

// tune sets the socket as the knobs say. Buffers that should count for window
// scaling as well are set before the connection is made, by Knobs.Control.
func (t *transfer) tune(receiving bool) error {
	c, ok := netConn(t.conn).(*net.TCPConn) // still in the poller
	if !ok {
		return nil
	}
	t.mu.Lock()
	t.receiving = receiving
	t.mu.Unlock()
	if n := t.opt.SendBuffer; n > 0 {
		if err := c.SetWriteBuffer(n); err != nil {
			return fmt.Errorf("set the send buffer: %w", err)
		}
	}
	if n := t.opt.ReceiveBuffer; n > 0 {
		if err := c.SetReadBuffer(n); err != nil {
			return fmt.Errorf("set the receive buffer: %w", err)
		}
	}
	return t.tuneSocket(c, receiving)
}
