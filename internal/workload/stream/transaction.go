package stream

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Range and precision of latency figures: 1 ns to 60 s, three digits.
const (
	maxLatency    = 60 * time.Second
	latencyDigits = 3
)

// request sends a request and waits for its response, again and again.
func (s *Stream) request(k *sock, c *Counts) error {
	s.Latency = hdrhistogram.New(1, int64(maxLatency), latencyDigits)
	out, in := s.test.payload(s.test.Request), make([]byte, s.test.Response)
	for !s.halt.Load() {
		if s.take(1) == 0 {
			return nil
		}
		begin := time.Now()
		if err := s.writeFull(k, out, c); err != nil {
			return err
		}
		if got, err := s.response(k, in, c); err != nil {
			return err
		} else if !got {
			continue
		}
		// A value out of range is the longest wait the histogram can show.
		_ = s.Latency.RecordValue(min(int64(time.Since(begin)), int64(maxLatency)))
		c.Transactions++
		c.Messages++
		c.Bytes += int64(len(out) + len(in))
		if c.Transactions%publishEvery == 0 {
			s.publish(*c)
		}
	}
	return errHalted
}

// requestConnecting opens a connection for each transaction; the server closes
// it after its response.
func (s *Stream) requestConnecting(c *Counts) error {
	s.Latency = hdrhistogram.New(1, int64(maxLatency), latencyDigits)
	out, in := s.test.payload(s.test.Request), make([]byte, s.test.Response)
	for !s.halt.Load() {
		if s.take(1) == 0 {
			return nil
		}
		begin := time.Now()
		if err := s.transact(out, in); err != nil {
			return err
		}
		_ = s.Latency.RecordValue(min(int64(time.Since(begin)), int64(maxLatency)))
		c.Transactions++
		c.Messages++
		c.Bytes += int64(len(out) + len(in))
		s.publish(*c)
	}
	return errHalted
}

func (s *Stream) transact(out, in []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	conn, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(connectTimeout)); err != nil {
		return err
	}
	if _, err := conn.Write(out); err != nil {
		return err
	}
	if _, err := io.ReadFull(conn, in); err != nil {
		return err
	}
	var end [1]byte
	if n, err := conn.Read(end[:]); n > 0 || !errors.Is(err, io.EOF) {
		return errors.New("the server did not close the connection after its response")
	}
	return nil
}

// response waits for one response. A datagram, or the request before it, may be
// lost: after a tick that transaction is given up and does not count.
func (s *Stream) response(k *sock, b []byte, c *Counts) (got bool, err error) {
	if s.test.Protocol == TCP {
		return true, s.readFull(k, b, c)
	}
	for begin := time.Now(); ; {
		n, err := k.read(b, false)
		c.Syscalls++
		switch {
		case errors.Is(err, io.EOF): // an empty datagram is a response too
			return true, nil
		case n > 0 || err != nil:
			return true, err
		case s.halt.Load():
			return false, errHalted
		case time.Since(begin) >= tick:
			return false, nil
		}
	}
}

// respond waits for requests and answers each.
func (s *Stream) respond(k *sock, c *Counts) error {
	in, out := make([]byte, s.test.Request), s.test.payload(s.test.Response)
	for !s.halt.Load() {
		if err := s.readFull(k, in, c); err != nil {
			return err
		}
		if err := s.writeFull(k, out, c); err != nil {
			return err
		}
		c.Transactions++
		c.Messages++
		c.Bytes += int64(len(in) + len(out))
		if c.Transactions%publishEvery == 0 {
			s.publish(*c)
		}
	}
	return errHalted
}
