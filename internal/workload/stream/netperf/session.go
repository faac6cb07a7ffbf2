package netperf

import (
	"cmp"
	"context"
	"time"

	wire "github.com/linerate/linerate/internal/wire/netperf"
	"github.com/linerate/linerate/internal/workload/stream"
)

// session is a test at the client.
type session struct {
	test   stream.Test
	links  []*link
	broken chan error
}

// Streams returns the streams in the order of their control connections.
func (s *session) Streams() (ss []*stream.Stream) {
	for _, l := range s.links {
		ss = append(ss, l.stream)
	}
	return ss
}

// Start has nothing to wait for: a server is ready with its response.
func (s *session) Start(context.Context) error { return nil }

// Broken is silent: the control connection says nothing during a test, and a
// data connection that breaks ends its stream.
func (s *session) Broken() <-chan error { return s.broken }

// End ends the data connections and reads the server's results.
func (s *session) End(ctx context.Context, own stream.Report) (stream.Report, error) {
	out := stream.Report{Streams: make([]stream.Counts, len(s.links))}
	for i, l := range s.links {
		defer l.ctl.until(ctx)()
		l.finish(s.test)
		// The server may wait for its own timer first.
		m, err := l.ctl.getAnswer(controlTimeout + s.test.Duration)
		if err != nil {
			return out, l.ctl.fail("results", err)
		}
		r := wire.ParseResults(m, l.granted)
		out.Streams[i] = counts(r, own.Streams[i], s.test)
		out.Elapsed = max(out.Elapsed, time.Duration(r.Elapsed*float64(time.Second)))
		out.CPUPercent = max(out.CPUPercent, r.CPU*float64(r.CPUs))
		out.Congestion = cmp.Or(out.Congestion, r.Congestion)
	}
	return out, nil
}

// endings is how many empty datagrams end a UDP test; one may be lost.
const endings = 3

// finish ends the data phase as the protocol wants it.
func (l *link) finish(t stream.Test) {
	conn := l.stream.Conn
	if conn == nil {
		return
	}
	if t.Protocol == stream.UDP {
		for range endings {
			_, _ = conn.Write(nil) // a lost one is why there are three
		}
		return
	}
	// Shut down, then read until the server has closed: what is still on the way
	// must not meet a closed socket.
	stream.Linger(conn, controlTimeout)
}

// counts takes the server's figures of one stream. netperf numbers no
// datagrams, so what was sent and not received counts as lost.
func counts(r wire.Results, own stream.Counts, t stream.Test) stream.Counts {
	c := stream.Counts{Bytes: r.BytesReceived, Messages: int64(uint32(r.RecvCalls)), Retransmits: int64(r.Retransmits), Transactions: int64(uint32(r.Transactions))}
	if r.BytesSent > 0 && r.BytesReceived == 0 {
		c.Bytes, c.Messages = r.BytesSent, int64(uint32(r.SendCalls))
	}
	if t.Protocol == stream.UDP && r.BytesReceived > 0 {
		c.Received, c.Unique, c.Highest = c.Messages, c.Messages, max(own.Messages, c.Messages)
	}
	return c
}

// Close closes every connection.
func (s *session) Close() error {
	for _, l := range s.links {
		l.close()
	}
	return nil
}
