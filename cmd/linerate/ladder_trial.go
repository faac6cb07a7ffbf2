package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/linerate/linerate/internal/meter/cpu"
	"github.com/linerate/linerate/internal/meter/tcpinfo"
	measure "github.com/linerate/linerate/internal/run"
	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/result"
)

// The directions of a trial, as seen from the client.
const (
	directionGet = "get"
	directionPut = "put"
)

// ladderTrial is one transfer that runs until it has been watched long enough.
type ladderTrial struct {
	rig       *ladderRig
	step      ladderStep
	server    *ladderServer
	direction string
	net       *tap
	moved     atomic.Int64 // payload the client has passed to or taken from its socket

	conn  *net.TCPConn    // of the data, once it moves
	socks tcpinfo.Sockets // reads conn
}

// run watches a transfer for a while after warm, and returns the values of that
// while.
func (t *ladderTrial) run(ctx context.Context, warm, watch time.Duration) ([]result.Value, time.Duration, error) {
	t.net = &tap{Namespace: t.rig.client, knobs: data.Knobs{SendBuffer: t.step.buffers, ReceiveBuffer: t.step.buffers}}
	control, err := client.Dial(ctx, client.Config{Location: t.server.location, Network: t.net})
	if err != nil {
		return nil, 0, err
	}
	defer control.Close()
	moving, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- t.transfer(moving, control) }()

	for t.moved.Load() == 0 {
		if err := pause(ctx, time.Millisecond, ended); err != nil {
			return nil, 0, err
		}
	}
	t.conn = t.net.last.Load()
	if untrack, err := t.socks.Track("client", t.conn); err == nil {
		defer untrack()
	}
	if err := pause(ctx, warm, ended); err != nil {
		return nil, 0, err
	}
	before := t.read(ctx)
	if err := pause(ctx, watch, ended); err != nil {
		return nil, 0, err
	}
	after := t.read(ctx)
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		return nil, 0, err
	}
	took := after.at.Sub(before.at)
	return t.figures(result.Delta(before.values, after.values), took), took, nil
}

// transfer moves bytes without end in the trial's direction.
func (t *ladderTrial) transfer(ctx context.Context, conn *client.Conn) error {
	o := data.Options{Knobs: t.net.knobs, Moved: &t.moved}
	var err error
	if t.direction == directionGet {
		_, err = conn.Get(ctx, ladderSource, 0, io.Discard, o)
	} else {
		_, err = conn.Put(ctx, ladderSink, 0, client.Zeros(ladderLength), o)
	}
	return err
}

// pause waits while a transfer runs that must not end meanwhile.
func pause(ctx context.Context, d time.Duration, ended <-chan error) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-ended:
		if err == nil {
			err = errors.New("it was over too soon")
		}
		return fmt.Errorf("transfer: %w", err)
	}
}

// snapshot is what every meter said at one instant.
type snapshot struct {
	at     time.Time
	values []result.Value
}

// read takes a snapshot. Where a meter cannot read, its values are missing, and
// so are the figures and findings that rest on them.
func (t *ladderTrial) read(ctx context.Context) snapshot {
	s := t.flows(ctx)
	s.values = append(append(s.values, t.sent()...), t.server.card(ctx, t.rig.server)...)
	if h := t.rig.host; h != nil {
		s.values = append(s.values, readAll(ctx, []measure.Meter{cpu.Meter{Host: h},
			cpu.Process{Host: h, PID: t.server.PID(), Label: "server"}, cpu.Process{Host: h, Label: "client"}})...)
	}
	return s
}

// flows reads the connection from both ends, as flows "client" and "server".
// On a busy machine a reader waits between looking at the clock and at the
// bytes, which at line rate is worth a hundred frames a millisecond: the
// tightest of some readings counts.
func (t *ladderTrial) flows(ctx context.Context) (best snapshot) {
	const tight, tries = time.Millisecond, 10
	meters := []measure.Meter{&t.socks}
	if h := t.rig.host; h != nil {
		meters = append(meters, tcpinfo.Meter{Host: h, Port: t.conn.RemoteAddr().(*net.TCPAddr).AddrPort().Port()})
	}
	shortest := time.Duration(math.MaxInt64)
	for range tries {
		begin := time.Now()
		values := append(readAll(ctx, meters), result.Bytes.Of(float64(t.moved.Load())))
		if took := time.Since(begin); took < shortest {
			shortest, best = took, snapshot{at: begin.Add(took / 2), values: values}
		}
		if shortest <= tight {
			break
		}
	}
	far := t.conn.RemoteAddr().String() + "-" + t.conn.LocalAddr().String()
	best.values = slices.DeleteFunc(best.values, func(v result.Value) bool {
		flow, isFlow := v.Labels["flow"]
		if flow == far {
			v.Labels["flow"] = "server"
		}
		return isFlow && flow != far && flow != "client" // our own end once more, or a stranger's
	})
	return best
}

// sent reads what the interface of the sender has sent: its own counters tell
// frames with data from ACKs.
func (t *ladderTrial) sent() []result.Value {
	if t.rig.link == nil {
		return nil
	}
	end := t.rig.link.B
	if t.direction == directionPut {
		end = t.rig.link.A
	}
	n, err := end.Counters()
	if err != nil {
		return nil
	}
	return []result.Value{result.NICFrames.Of(float64(n.TxFrames), "direction", "tx"), result.NICBytes.Of(float64(n.TxBytes), "direction", "tx")}
}
