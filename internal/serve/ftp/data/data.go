// Package data moves a file over an FTP data connection. Send and Recv pick
// the cheapest way that the store's reader or writer and the socket allow:
// sendfile out of a file, receiving straight into a store's mapped memory,
// splice into a file, dropping in the kernel, TLS with records gathered, and a
// plain copy where none of those is possible.
package data

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// ErrStalled is the error of a transfer that moved no byte for Options.Stall.
var ErrStalled = errors.New("transfer stalled")

// Knobs are the settings of the data path that a run varies and its Result
// shows. The zero value is the fastest this host can do.
type Knobs struct {
	SendSize      int    `json:"send_size,omitempty"`      // bytes per send; 0: as much as the way in use takes
	Yield         bool   `json:"yield,omitempty"`          // give up the processor after every send
	SendBuffer    int    `json:"send_buffer,omitempty"`    // SO_SNDBUF in bytes; 0: the kernel tunes it
	ReceiveBuffer int    `json:"receive_buffer,omitempty"` // SO_RCVBUF in bytes; 0: the kernel tunes it
	ReceiveLimit  int    `json:"receive_limit,omitempty"`  // most bytes taken by one receive; 0: as much as the way in use takes
	Copy          bool   `json:"copy,omitempty"`           // copy through user space although it could be avoided
	LowWater      int    `json:"low_water,omitempty"`      // SO_RCVLOWAT in bytes; 0: chosen by Recv; negative: left alone
	Congestion    string `json:"congestion,omitempty"`     // TCP_CONGESTION; empty: the host's
}

// Options of one transfer.
type Options struct {
	Knobs
	// Limit paces the transfer; nil doesn't. One Limiter may pace many.
	Limit *Limiter
	// Stall ends a transfer that moves nothing for so long; 0 never does.
	Stall time.Duration
	// Threads lets the transfer wait in the kernel where one is free. The
	// transfer then closes the TCP connection at its end.
	Threads *Threads
	// Moved, if set, is added to as bytes move, for who watches.
	Moved *atomic.Int64
}

// Stats tells how a transfer went.
type Stats struct {
	Bytes    int64         `json:"bytes"`
	Duration time.Duration `json:"duration"`
	Way      Way           `json:"way"`
	Calls    int64         `json:"calls"` // sends or receives
	Knobs    Knobs         `json:"knobs"`
	TCP      *TCPInfo      `json:"tcp,omitempty"` // nil where the system doesn't tell
}

// Way names how the bytes went.
type Way string

// The ways. All but the first spare a copy in user space. MSG_ZEROCOPY and
// TCP_ZEROCOPY_RECEIVE aren't among them: where they would pay, sendfile and
// splice do already.
const (
	WayCopy      Way = "copy"
	WaySendfile  Way = "sendfile"   // file to socket inside the kernel
	WayKernelTLS Way = "kernel TLS" // the same, encrypted on the way
	WaySplice    Way = "splice"     // socket to file through a pipe of pages
	WayMapped    Way = "mapped"     // to or from the store's own memory
	WayLent      Way = "lent"       // from or to the stack's own memory
	WayDiscard   Way = "discard"    // dropped in the kernel (MSG_TRUNC)
)

// Send sends what r holds to c, ends the stream (close_notify, FIN) and leaves
// c for the caller to close. When ctx ends, it stops with the context's cause.
// The Stats count also what a failed transfer moved.
func Send(ctx context.Context, c net.Conn, r io.Reader, o Options) (Stats, error) {
	t := begin(ctx, c, o)
	err := t.send(r)
	if err == nil {
		err = closeWrite(t.conn)
	}
	return t.end(err)
}

// Recv receives from c into w until the peer ends the stream. A TLS stream
// without close_notify is cut off: io.ErrUnexpectedEOF. Otherwise as Send.
func Recv(ctx context.Context, w io.Writer, c net.Conn, o Options) (Stats, error) {
	t := begin(ctx, c, o)
	err := t.recv(w)
	if _, ok := c.(*TLSConn); ok && err == nil {
		_ = closeWrite(t.conn) // the peer may be gone already, and has sent all
	}
	return t.end(err)
}

// closeWrite ends our direction of c, so that the peer reads everything and
// then the end.
func closeWrite(c net.Conn) error {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return nil
}
