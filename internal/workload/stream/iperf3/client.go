package iperf3

import (
	"cmp"
	"context"
	"crypto/rsa"
	"fmt"
	"net"
	"time"

	wire "github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/internal/workload/stream"
)

// Client opens tests with an iperf3 or linerate server.
type Client struct {
	Addr    string        // host:port
	Timeout time.Duration // of each step; 0: DefaultTimeout

	// What only this protocol carries.
	User, Password string
	Key            *rsa.PublicKey // of the server; nil: no authentication
	OldPadding     bool           // for servers up to 3.16
	ServerOutput   bool
	Title, Extra   string
	ServerCPU      *int // core to pin the server to
	FQRate         int64
}

// Name is the dialect's name in a Result.
func (*Client) Name() string { return "iperf3" }

// Open agrees on a test and connects its streams.
func (d *Client) Open(ctx context.Context, t stream.Test) (stream.Session, error) {
	p, err := d.params(t)
	if err != nil {
		return nil, err
	}
	sock := t.Socket
	dialer := net.Dialer{Timeout: cmp.Or(d.Timeout, DefaultTimeout)}
	if sock.Local.IsValid() {
		dialer.LocalAddr = &net.TCPAddr{IP: sock.Local.AsSlice()}
	}
	conn, err := dialer.DialContext(ctx, "tcp"+sock.Network, d.Addr)
	if err != nil {
		return nil, fmt.Errorf("iperf3: connect control: %w", err)
	}
	s := &session{ctl: newControl(conn, d.Timeout), test: t, addr: d.Addr, cookie: wire.NewCookie(), broken: make(chan error, 1)}
	defer s.ctl.until(ctx)()
	if err := s.open(ctx, p); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// params says t in the words of the protocol, which counts whole seconds.
func (d *Client) params(t stream.Test) (wire.Params, error) {
	if t.Transactions() {
		return wire.Params{}, fmt.Errorf("iperf3 has no request/response test; use the netperf dialect")
	}
	seconds := func(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
	p := wire.Params{
		TCP: t.Protocol == stream.TCP, UDP: t.Protocol == stream.UDP, Omit: seconds(t.Omit), Time: seconds(t.Duration),
		Bytes: t.Bytes, Blocks: t.Messages, MSS: t.Socket.MSS, NoDelay: t.Socket.NoDelay, Parallel: t.Parallel,
		Reverse: t.Direction == stream.Receive, Bidir: t.Direction == stream.Both, Multipath: t.Socket.Multipath,
		Window: cmp.Or(t.Socket.Window, t.Socket.RecvBuffer, t.Socket.SendBuffer), Len: t.Message, Rate: int64(t.Rate), FQRate: int64(t.Socket.Pacing), PacingTimer: 1000,
		Burst: t.Burst, TOS: t.Socket.TOS, Title: d.Title, Extra: d.Extra, Congestion: t.Socket.Congestion,
		ServerOutput: wire.Mark(d.ServerOutput), Counters64: wire.Mark(t.Protocol == stream.UDP && !t.Counters32),
		Repeating: wire.Mark(t.Repeating), DontFragment: wire.Mark(t.Socket.DontFrag), SkipCopy: wire.Mark(t.Discard),
		Affinity: d.ServerCPU, Version: "linerate", Extension: &wire.Extension{Version: 1},
	}
	if t.ZeroCopy != stream.Copy {
		p.ZeroCopy = 1
	}
	if err := p.Check(); err != nil {
		return p, fmt.Errorf("the test does not fit the iperf3 protocol: %w", err)
	}
	if d.Key == nil {
		return p, nil
	}
	var err error
	p.AuthToken, err = wire.Credentials{User: d.User, Password: d.Password, Time: time.Now()}.Token(d.Key, d.OldPadding)
	return p, err
}
