package main

import (
	"context"
	"io"
	"net"
	"sync/atomic"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/meter/conntrack"
	"github.com/linerate/linerate/internal/meter/nic"
	"github.com/linerate/linerate/internal/meter/nstat"
	"github.com/linerate/linerate/internal/meter/qdisc"
	"github.com/linerate/linerate/internal/meter/softnet"
	"github.com/linerate/linerate/internal/meter/tcpinfo"
	measure "github.com/linerate/linerate/internal/run"
	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/result"
)

// tunedNetwork makes sockets with the buffers asked for before they connect,
// so that they count for the window scale.
type tunedNetwork struct {
	net.Dialer
	net.ListenConfig
}

// ftpSession is a client.Conn as ftpload wants it.
type ftpSession struct {
	conn *client.Conn
	opt  data.Options
	flow string // of the transfer under way
}

func openFTPSession(ctx context.Context, cfg client.Config, k data.Knobs, sockets *tcpinfo.Sockets) (*ftpSession, error) {
	s := &ftpSession{opt: data.Options{Knobs: k}}
	cfg.Watch = func(conn net.Conn) func() {
		if tcp, ok := conn.(*net.TCPConn); ok {
			if stop, err := sockets.Track(s.flow, tcp); err == nil {
				return stop
			}
		}
		return func() {} // a system that doesn't tell; the meter says so itself
	}
	var err error
	s.conn, err = client.Dial(ctx, cfg)
	return s, err
}

func (s *ftpSession) Get(ctx context.Context, name string, moved *atomic.Int64) error {
	s.flow, s.opt.Moved = directionGet, moved
	_, err := s.conn.Get(ctx, name, 0, io.Discard, s.opt)
	return err
}

func (s *ftpSession) Put(ctx context.Context, name string, size int64, moved *atomic.Int64) error {
	s.flow, s.opt.Moved = directionPut, moved
	_, err := s.conn.Put(ctx, name, 0, client.Zeros(size), s.opt)
	return err
}

func (s *ftpSession) Close() error { return s.conn.Close() }

// ftpMeters are those of every bench, with the interface towards the server
// alone, and of the places where packets are lost: the receive softirq, the
// stack, connection tracking and the queue towards the server.
func ftpMeters(ifname string) []measure.Meter {
	var meters []measure.Meter
	for _, m := range hostMeters() {
		if n, ok := m.(nic.Meter); ok && ifname != "" {
			n.Interfaces = []string{ifname}
			m = n
		}
		meters = append(meters, m)
	}
	if h, err := host.Live(); err == nil {
		meters = append(meters, softnet.Meter{Host: h}, nstat.Meter{Host: h}, conntrack.Meter{Host: h})
		if ifname != "" {
			meters = append(meters, qdisc.Meter{Host: h, Interfaces: []string{ifname}})
		}
	}
	return meters
}

// readAll reads meters at one instant. One that can't be read is missing here;
// the run's own readings say why.
func readAll(ctx context.Context, meters []measure.Meter) []result.Value {
	var vs []result.Value
	for _, m := range meters {
		if read, err := m.Read(ctx); err == nil {
			vs = append(vs, read...)
		}
	}
	return vs
}
