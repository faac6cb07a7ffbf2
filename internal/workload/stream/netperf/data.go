package netperf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	wire "github.com/linerate/linerate/internal/wire/netperf"
	"github.com/linerate/linerate/internal/workload/stream"
)

// Times of a data phase at the server.
const (
	// dataTimeout is how long it may be silent before its first payload, and
	// lateTimeout after the length that the client announced, which counts from
	// that payload. netperf's server ends 4 s after the length come what may, which
	// cuts a test that began late (HewlettPackard/netperf #77).
	dataTimeout = 10 * time.Second
	lateTimeout = 2 * time.Second
	interval    = 100 * time.Millisecond
)

// data is the server's end of a data phase.
type data struct {
	request  wire.Request
	test     stream.Test
	listener net.Listener // of TCP
	conn     *net.UDPConn // of UDP
	port     int
}

// listen opens the data port that a request wants.
func listen(ctx context.Context, q wire.Request, at, client net.Addr) (*data, error) {
	d := &data{request: q, test: serverTest(q)}
	if q.Protocol == wire.ProtoUDP && q.Direction == wire.ServerSends {
		// The server sends first: the request must say where to.
		if q.Client.Port() == 0 {
			return nil, fmt.Errorf("no port to send datagrams to: %w", syscall.EDESTADDRREQ)
		}
		// An IPv6 address depends on the byte order of the client's host, which the
		// request does not tell.
		if a := q.Client.Addr(); !a.IsValid() || a.IsUnspecified() || a.Is6() {
			q.Client = netip.AddrPortFrom(client.(*net.TCPAddr).AddrPort().Addr(), q.Client.Port())
			d.request = q
		}
	}
	local := at.(*net.TCPAddr).AddrPort().Addr().Unmap()
	addr := net.JoinHostPort(local.String(), strconv.Itoa(int(q.Port)))
	if q.Protocol == wire.ProtoTCP {
		ln, err := d.test.Socket.Listen(ctx, addr)
		if err != nil {
			return nil, err
		}
		d.listener, d.port = ln, ln.Addr().(*net.TCPAddr).Port
		return d, nil
	}
	var err error
	if d.conn, err = d.test.Socket.ListenUDP(ctx, addr); err != nil {
		return nil, err
	}
	d.port = d.conn.LocalAddr().(*net.UDPAddr).Port
	return d, nil
}

func (d *data) close() {
	if d.listener != nil {
		d.listener.Close()
	}
	if d.conn != nil {
		d.conn.Close()
	}
}

// serverTest is the test as the server runs it.
func serverTest(q wire.Request) stream.Test {
	t := stream.Test{
		Protocol: stream.TCP, Message: int(q.SendSize), Request: int(max(q.Request, 0)), Response: int(max(q.Response, 0)),
		Socket: stream.Socket{SendBuffer: int(max(q.SendBuffer, 0)), RecvBuffer: int(max(q.RecvBuffer, 0)), NoDelay: q.Flags&wire.NoDelay != 0,
			TOS: int(max(q.TOS, 0)), Congestion: q.Congestion},
	}
	if q.Protocol == wire.ProtoUDP {
		t.Protocol = stream.UDP
		if q.Direction == wire.ServerReceives {
			t.Message = int(q.RecvSize)
		}
	}
	if q.Direction != wire.ServerSends|wire.ServerReceives {
		t.Request, t.Response = 0, 0
	}
	if q.CPU != nil {
		t.CPUs = []int{int(*q.CPU)}
	}
	t.Message = max(t.Message, 0)
	t = t.Defaulted()
	t.Duration = 0
	if q.Length < 0 && q.Direction == wire.ServerSends {
		t.Bytes = -int64(q.Length)
	}
	return t
}

func (d *data) response() wire.Response {
	return wire.Response{
		SendBuffer: d.request.SendBuffer, RecvBuffer: d.request.RecvBuffer, SendSize: int32(d.test.Message), RecvSize: int32(d.test.Message),
		Flags: d.request.Flags & (wire.NoDelay | wire.MeasureCPU), Port: int32(d.port), TOS: max(d.request.TOS, -1),
	}
}

// run does the data phase until the peer, the request's length or ctx ends it.
func (d *data) run(ctx context.Context) (wire.Results, error) {
	defer context.AfterFunc(ctx, d.close)()
	switch {
	case d.request.Protocol == wire.ProtoUDP && d.request.Direction == wire.ServerSends|wire.ServerReceives:
		return d.respondDatagrams(ctx)
	case d.request.Flags&wire.ConnectTest != 0:
		return d.respondConnecting(ctx)
	}
	role := stream.Receiver
	switch d.request.Direction {
	case wire.ServerSends:
		role = stream.Sender
	case wire.ServerSends | wire.ServerReceives:
		role = stream.Responder
	}
	conn, err := d.connect(ctx, role)
	if err != nil {
		return wire.Results{}, err
	}
	s := &stream.Stream{Role: role, Conn: conn, Unnumbered: true}
	defer func() { s.Conn.Close() }()
	g, err := stream.NewGroup(d.test, []*stream.Stream{s})
	if err != nil {
		return wire.Results{}, err
	}
	g.Start()
	moving, late, err := d.watch(ctx, g)
	broke := g.Stop()
	r := g.Report()
	c := r.Streams[0]
	if role == stream.Sender {
		d.endDatagrams(s.Conn)
		broke = nil // the client may close first, at the same time as our timer
	}
	out := d.results(c, role)
	out.Elapsed = min(r.Elapsed-late, moving).Seconds()
	return out, errors.Join(err, broke)
}

// connect returns the data connection.
func (d *data) connect(ctx context.Context, role stream.Role) (net.Conn, error) {
	if d.conn != nil && role == stream.Receiver {
		return d.conn, nil
	}
	if d.conn != nil {
		to := d.request.Client
		sock := d.test.Socket
		local := d.conn.LocalAddr().(*net.UDPAddr).AddrPort()
		sock.Local, sock.LocalPort = local.Addr().Unmap(), int(local.Port())
		d.conn.Close()
		return sock.Dial(ctx, stream.UDP, netip.AddrPortFrom(to.Addr().Unmap(), to.Port()).String())
	}
	if err := d.listener.(*net.TCPListener).SetDeadline(time.Now().Add(dataTimeout)); err != nil {
		return nil, err
	}
	conn, err := d.listener.Accept()
	if err != nil {
		return nil, fmt.Errorf("no data connection: %w", err)
	}
	return conn, d.test.Socket.Accepted(conn)
}

// watch waits for the end of a data phase and returns how long payload moved,
// and how long it took to come.
func (d *data) watch(ctx context.Context, g *stream.Group) (moving, late time.Duration, err error) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	length := time.Duration(max(d.request.Length, 0)) * time.Second
	start := time.Now()
	var moved int64
	var last time.Duration
	for {
		select {
		case <-g.Done():
			return time.Since(start) - late, late, nil
		case <-ctx.Done():
			return last - late, late, context.Cause(ctx)
		case <-tick.C:
		}
		since := time.Since(start)
		if n := g.Streams[0].Counts().Bytes; n != moved {
			if moved == 0 && since > 2*interval {
				late = since - interval/2 // it came between two looks
			}
			moved, last = n, since
		}
		switch silent := since - last; {
		case d.request.Direction == wire.ServerSends && length > 0 && since >= length:
			return since, 0, nil
		case moved == 0 && silent > dataTimeout+length, moved > 0 && length > 0 && since > late+length+lateTimeout && silent > lateTimeout,
			moved > 0 && silent > max(dataTimeout, length):
			return last - late, late, nil
		}
	}
}

// endDatagrams tells a client that receives datagrams that there are no more.
func (d *data) endDatagrams(conn net.Conn) {
	if d.request.Protocol != wire.ProtoUDP {
		return
	}
	for range endings {
		_, _ = conn.Write(nil) // a lost one is why there are three
	}
}

// results says what a stream counted in the words of the protocol.
func (d *data) results(c stream.Counts, role stream.Role) wire.Results {
	r := wire.Results{Retransmits: int32(c.Retransmits), Transactions: int32(c.Transactions)}
	switch role {
	case stream.Receiver:
		r.BytesReceived, r.RecvCalls = c.Bytes, int32(c.Messages)
	case stream.Sender:
		r.BytesSent, r.SendCalls = c.Bytes, int32(c.Messages)
	default:
		r.BytesReceived, r.RecvCalls = int64(c.Transactions)*int64(d.test.Request), int32(c.Transactions)
		r.BytesSent, r.SendCalls = c.Bytes-int64(c.Transactions)*int64(d.test.Request), int32(c.Transactions)
	}
	return r
}
