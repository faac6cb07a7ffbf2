package netperf

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	wire "github.com/linerate/linerate/internal/wire/netperf"
)

// until returns when the data phase must end: the announced length and what
// the first payload may take, or an hour for a test that ends by a count.
func (d *data) until() time.Time {
	if d.request.Length > 0 {
		return time.Now().Add(time.Duration(d.request.Length)*time.Second + dataTimeout)
	}
	return time.Now().Add(time.Hour)
}

// respondDatagrams answers requests of whoever sends them until an empty one.
func (d *data) respondDatagrams(ctx context.Context) (r wire.Results, err error) {
	out, in := make([]byte, d.test.Response), make([]byte, d.test.Request)
	until := d.until()
	var start, last time.Time
	for ctx.Err() == nil {
		if err := d.conn.SetDeadline(earlier(until, time.Now().Add(dataTimeout))); err != nil {
			break
		}
		n, from, err := d.conn.ReadFromUDPAddrPort(in)
		if err != nil || n == 0 {
			break // over, or silent for too long: what came before counts
		}
		if start.IsZero() {
			start = time.Now()
		}
		r.BytesReceived += int64(n)
		r.RecvCalls++
		if n, err = d.conn.WriteToUDPAddrPort(out, from); err != nil {
			r.FailedSends++
			continue
		}
		r.BytesSent += int64(n)
		r.SendCalls++
		r.Transactions++
		last = time.Now()
		if d.enough(r.Transactions) {
			break
		}
	}
	if !start.IsZero() {
		r.Elapsed = last.Sub(start).Seconds()
	}
	r.Retransmits = -1
	return r, nil
}

// enough reports whether a test that ends by a count has had its transactions.
func (d *data) enough(n int32) bool { return d.request.Length < 0 && n >= -d.request.Length }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// respondConnecting serves a connection for each transaction, until the client
// closes the control connection's turn by silence or the length runs out.
func (d *data) respondConnecting(ctx context.Context) (r wire.Results, err error) {
	ln := d.listener.(*net.TCPListener)
	start := time.Now()
	until := d.until()
	if d.request.Length > 0 {
		// The client stops connecting at its own timer; nothing else says so.
		until = start.Add(time.Duration(d.request.Length)*time.Second + connectGrace)
	}
	last := start
	for ctx.Err() == nil && !d.enough(r.Transactions) {
		if err := ln.SetDeadline(until); err != nil {
			break
		}
		conn, err := ln.Accept()
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
			break
		}
		if err != nil {
			return r, err
		}
		if d.transact(conn, &r) {
			last = time.Now()
		}
	}
	r.Elapsed = last.Sub(start).Seconds()
	r.Retransmits = -1
	return r, nil
}

// connectGrace is how long the server waits beyond the length of a connecting
// test for a transaction under way.
const connectGrace = time.Second

// transact serves one connection and reports whether its transaction was whole.
func (d *data) transact(conn net.Conn, r *wire.Results) bool {
	defer conn.Close()
	if conn.SetDeadline(time.Now().Add(dataTimeout)) != nil {
		return false
	}
	in := make([]byte, d.test.Request)
	n, err := io.ReadFull(conn, in)
	r.BytesReceived += int64(n)
	r.RecvCalls++
	if err != nil {
		return false
	}
	if n, err = conn.Write(make([]byte, d.test.Response)); err != nil {
		r.FailedSends++
		return false
	}
	r.BytesSent += int64(n)
	r.SendCalls++
	r.Transactions++
	return true
}
