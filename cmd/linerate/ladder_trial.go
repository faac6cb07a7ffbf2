package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/linerate/linerate/internal/meter/cpu"
	"github.com/linerate/linerate/internal/meter/tcpinfo"
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
}

// run watches a transfer for a while after warm, and returns the values of that
// while.
func (t *ladderTrial) run(ctx context.Context, warm, watch time.Duration) ([]result.Value, time.Duration, error) {
	t.net = &tap{Namespace: t.rig.client, knobs: data.Knobs{SendBuffer: t.step.buffers, ReceiveBuffer: t.step.buffers}}
	conn, err := client.Dial(ctx, client.Config{Location: t.server.location, Network: t.net})
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close()
	moving, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- t.transfer(moving, conn) }()

	before, err := t.after(ctx, warm, ended)
	if err != nil {
		return nil, 0, err
	}
	defer before.untrack()
	after, err := t.again(ctx, before, watch, ended)
	if err != nil {
		return nil, 0, err
	}
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		return nil, 0, err
	}
	took := after.at.Sub(before.at)
	return t.values(result.Delta(before.values, after.values), took), took, nil
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

// snapshot is what every meter said at one instant.
type snapshot struct {
	at      time.Time
	values  []result.Value
	socks   *tcpinfo.Sockets
	conn    *net.TCPConn
	untrack func()
}

// after waits until bytes move and then for d, and takes the first snapshot.
func (t *ladderTrial) after(ctx context.Context, d time.Duration, ended <-chan error) (*snapshot, error) {
	for t.moved.Load() == 0 {
		if err := pause(ctx, time.Millisecond, ended); err != nil {
			return nil, err
		}
	}
	if err := pause(ctx, d, ended); err != nil {
		return nil, err
	}
	s := &snapshot{socks: &tcpinfo.Sockets{}, conn: t.net.last.Load(), untrack: func() {}}
	if untrack, err := s.socks.Track("client", s.conn); err == nil {
		s.untrack = untrack
	}
	t.read(ctx, s)
	return s, nil
}

// again waits and takes another snapshot of the same connection.
func (t *ladderTrial) again(ctx context.Context, first *snapshot, d time.Duration, ended <-chan error) (*snapshot, error) {
	if err := pause(ctx, d, ended); err != nil {
		return nil, err
	}
	s := &snapshot{socks: first.socks, conn: first.conn}
	t.read(ctx, s)
	return s, nil
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

// read fills a snapshot. Where a meter cannot read, its values are missing, and
// so are the figures and findings that rest on them.
func (t *ladderTrial) read(ctx context.Context, s *snapshot) {
	meters := []interface {
		Read(context.Context) ([]result.Value, error)
	}{s.socks}
	if h := t.rig.host; h != nil {
		port := s.conn.RemoteAddr().(*net.TCPAddr).AddrPort().Port()
		meters = append(meters, tcpinfo.Meter{Host: h, Port: port}, cpu.Meter{Host: h},
			cpu.Process{Host: h, PID: t.server.PID(), Label: "server"}, cpu.Process{Host: h, Label: "client"})
	}
	s.at = time.Now()
	s.values = append(s.values, result.Bytes.Of(float64(t.moved.Load())))
	far := s.conn.RemoteAddr().String() + "-" + s.conn.LocalAddr().String()
	for _, m := range meters {
		vs, err := m.Read(ctx)
		if err != nil {
			continue
		}
		for _, v := range vs {
			switch flow, isFlow := v.Labels["flow"]; {
			case flow == far:
				v.Labels["flow"] = "server"
			case isFlow && flow != "client":
				continue // our own end once more, or a stranger's
			}
			s.values = append(s.values, v)
		}
	}
	if t.rig.link != nil {
		end := t.rig.link.B // the sender's counters tell sent frames from ACKs
		if t.direction == directionPut {
			end = t.rig.link.A
		}
		if n, err := end.Counters(); err == nil {
			s.values = append(s.values, result.NICFrames.Of(float64(n.TxFrames), "direction", "tx"), result.NICBytes.Of(float64(n.TxBytes), "direction", "tx"))
		}
	}
}

// values makes the figures of a trial from what the meters counted while it
// took.
func (t *ladderTrial) values(d []result.Value, took time.Duration) []result.Value {
	sender, receiver := "server", "client"
	if t.direction == directionPut {
		sender, receiver = receiver, sender
	}
	// Counted where it arrives; our own count runs ahead by what is buffered.
	bytes, _ := result.Get(d, result.Bytes)
	if n, ok := result.Get(d, result.TCPBytesReceived, "flow", receiver); ok {
		bytes = n
	}
	vs := []result.Value{result.Goodput.Of(bytes * 8 / took.Seconds()), result.Bytes.Of(bytes)}
	if limit := t.rig.lineLimit(t.step); limit > 0 {
		vs = append(vs, result.LineLimit.Of(limit))
	}
	const gib = 1 << 30
	if s, ok := result.Sum(d, result.ProcessCPU, "process", "server"); ok && bytes > 0 {
		vs = append(vs, result.CPUPerGiB.Of(s*gib/bytes))
	}
	frames, counted := result.Get(d, result.NICFrames)
	if onLine, ok := result.Get(d, result.NICBytes); counted && ok && frames > 0 {
		vs = append(vs, result.FrameSize.Of(onLine/frames))
	}
	segments, ok := result.Get(d, result.DataSegmentsOut, "flow", sender)
	if !counted && ok { // over loopback a segment is a frame
		frames, counted = segments, true
	}
	if counted {
		vs = append(vs, result.FrameRate.Of(frames/took.Seconds()))
	}
	out, ok1 := result.Get(d, result.SegmentsOut, "flow", receiver)
	withData, ok2 := result.Get(d, result.DataSegmentsOut, "flow", receiver)
	if acks := out - withData; ok1 && ok2 && acks > 0 {
		vs = append(vs, result.BytesPerACK.Of(bytes/acks))
	}
	return append(vs, t.evidence(d, sender, receiver)...)
}

// evidence is what the rules judge besides: the sender's view of the
// connection, the receiver's buffer and the CPU.
func (t *ladderTrial) evidence(d []result.Value, sender, receiver string) []result.Value {
	var vs []result.Value
	for _, m := range []result.Metric{result.TCPRTT, result.TCPMinRTT, result.TCPMSS, result.TCPCwnd, result.TCPSendBuffer, result.TCPBusy, result.TCPRwndLimited,
		result.TCPSndbufLimited, result.TCPRetransmits, result.DataSegmentsOut} {
		if v, ok := result.Get(d, m, "flow", sender); ok {
			vs = append(vs, m.Of(v))
		}
	}
	if w, ok := result.Get(d, result.TCPWindow, "flow", sender, "window", "send"); ok {
		vs = append(vs, result.TCPWindow.Of(w))
	}
	if b, ok := result.Get(d, result.TCPReceiveBuffer, "flow", receiver); ok {
		vs = append(vs, result.TCPReceiveBuffer.Of(b))
	}
	for _, v := range d {
		if v.Metric == result.ProcessCPU.Name || v.Metric == result.CPUSeconds.Name {
			vs = append(vs, v)
		}
	}
	return vs
}
