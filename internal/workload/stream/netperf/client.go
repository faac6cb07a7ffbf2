package netperf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strconv"
	"time"

	wire "github.com/linerate/linerate/internal/wire/netperf"
	"github.com/linerate/linerate/internal/workload/stream"
)

// Client opens tests with netserver or linerate. Its tests have one stream: for
// each stream of ours there is a control connection of its own, as from so many
// netperf processes.
type Client struct {
	Addr       string // host:port
	Passphrase string
}

// Name is the dialect's name in a Result.
func (*Client) Name() string { return "netperf" }

// Open agrees on a test and connects its streams.
func (d *Client) Open(ctx context.Context, t stream.Test) (stream.Session, error) {
	if t.Omit > 0 {
		return nil, errors.New("netperf has no omit period: leave it out, or use the iperf3 dialect")
	}
	if t.Receivers() > 0 && t.Total()/int64(t.Parallel) > math.MaxInt32 {
		return nil, errors.New("netperf counts at most 2 GiB of each stream that it sends: give a time instead")
	}
	s := &session{test: t, broken: make(chan error)}
	roles := []stream.Role{}
	for range t.Senders() {
		roles = append(roles, stream.Sender)
	}
	for range t.Receivers() {
		roles = append(roles, stream.Receiver)
	}
	if t.Transactions() {
		roles = make([]stream.Role, t.Parallel)
		for i := range roles {
			roles[i] = stream.Requester
		}
	}
	for i, role := range roles {
		l, err := d.open(ctx, t, role)
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("stream %d: %w", i+1, err)
		}
		s.links = append(s.links, l)
	}
	return s, nil
}

// link is one netperf test: a control connection and a stream.
type link struct {
	ctl     control
	stream  *stream.Stream
	granted wire.Flag
}

// forever is the length of a test that this end ends by a count.
const forever = 24 * time.Hour

// request says t in the words of the protocol.
func request(t stream.Test, role stream.Role) wire.Request {
	q := wire.Request{
		Protocol: wire.ProtoTCP, Flags: wire.MeasureCPU | wire.WantInfo, TOS: -1, Congestion: t.Socket.Congestion,
		SendBuffer: int32(cmp.Or(t.Socket.SendBuffer, t.Socket.Window)), RecvBuffer: int32(cmp.Or(t.Socket.RecvBuffer, t.Socket.Window)),
		Length: int32((cmp.Or(t.Duration, forever) + time.Second - 1) / time.Second),
	}
	if t.Protocol == stream.UDP {
		q.Protocol = wire.ProtoUDP
	}
	if t.Socket.NoDelay {
		q.Flags |= wire.NoDelay
	}
	if t.Socket.TOS > 0 {
		q.TOS = int32(t.Socket.TOS)
	}
	switch role {
	case stream.Sender:
		q.Direction, q.RecvSize = wire.ServerReceives, receiveSize(t)
	case stream.Receiver:
		q.Direction, q.SendSize = wire.ServerSends, int32(t.Message)
		if n := t.Total() / int64(t.Parallel); n > 0 {
			q.Length = -int32(n) // the server ends it
		}
	case stream.Requester:
		q.Direction, q.Request, q.Response = wire.ServerSends|wire.ServerReceives, int32(t.Request), int32(t.Response)
		if t.Connect {
			q.Flags |= wire.ConnectTest
		}
	}
	return q
}

// receiveSize is what a server should ask its socket for: a datagram, or the
// reads that we ask of ours.
func receiveSize(t stream.Test) int32 {
	if t.Protocol == stream.UDP {
		return int32(t.Message)
	}
	return 256 << 10
}

func (d *Client) open(ctx context.Context, t stream.Test, role stream.Role) (*link, error) {
	dialer := net.Dialer{Timeout: controlTimeout}
	if t.Socket.Local.IsValid() {
		dialer.LocalAddr = &net.TCPAddr{IP: t.Socket.Local.AsSlice()}
	}
	conn, err := dialer.DialContext(ctx, "tcp"+t.Socket.Network, d.Addr)
	if err != nil {
		return nil, fmt.Errorf("netperf: connect control: %w", err)
	}
	l := &link{ctl: newControl(conn)}
	defer l.ctl.until(ctx)()
	if err := d.agree(ctx, l, t, role); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (d *Client) agree(ctx context.Context, l *link, t stream.Test, role stream.Role) error {
	q := request(t, role)
	local := l.ctl.LocalAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
	sock := t.Socket
	if t.Protocol == stream.UDP {
		// The server sends first in some tests: it must know where to.
		pc, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, 0)))
		if err != nil {
			return l.ctl.fail("own data port", err)
		}
		sock.Local, sock.LocalPort = local, pc.LocalAddr().(*net.UDPAddr).Port
		pc.Close()
	}
	q.Client = netip.AddrPortFrom(local, uint16(sock.LocalPort))
	if d.Passphrase != "" {
		if err := l.ctl.put(wire.NewPassphrase(d.Passphrase)); err != nil {
			return l.ctl.fail("passphrase", err)
		}
	}
	if err := l.ctl.put(q.Message()); err != nil {
		return l.ctl.fail("request", err)
	}
	m, err := l.ctl.getAnswer(controlTimeout)
	if err != nil {
		return l.ctl.fail("response", err)
	}
	r := wire.ParseResponse(m)
	l.granted = r.Flags
	if r.Port < 1 || r.Port > 65535 {
		return l.ctl.fail("response", fmt.Errorf("%w: data port %d", wire.ErrMessage, r.Port))
	}
	host, _, err := net.SplitHostPort(l.ctl.RemoteAddr().String())
	if err != nil {
		return err
	}
	data := net.JoinHostPort(host, strconv.Itoa(int(r.Port)))
	l.stream = &stream.Stream{Role: role, Unnumbered: true}
	if t.Connect {
		l.stream.Connect = func(ctx context.Context) (net.Conn, error) { return sock.Dial(ctx, t.Protocol, data) }
		return nil
	}
	if l.stream.Conn, err = sock.Dial(ctx, t.Protocol, data); err != nil {
		return l.ctl.fail("data connection", err)
	}
	return nil
}

func (l *link) close() {
	if l.stream != nil && l.stream.Conn != nil {
		l.stream.Conn.Close()
	}
	l.ctl.Close()
}
