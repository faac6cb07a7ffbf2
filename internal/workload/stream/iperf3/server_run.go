package iperf3

import (
	"context"
	"errors"
	"io"
	"time"

	wire "github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/internal/workload/stream"
)

// Bounds of a running test at the server.
const (
	grace       = 40 * time.Second  // beyond the duration that the client announced
	idleTimeout = 120 * time.Second // without payload, where it announced none
)

func (t *test) run(ctx context.Context) error {
	defer t.ctl.until(ctx)()
	if err := t.agree(); err != nil {
		return err
	}
	streams, err := t.connect(ctx)
	defer func() {
		for _, s := range streams {
			s.Conn.Close()
		}
	}()
	if err != nil {
		return t.ctl.fail("waiting for data streams", err)
	}
	g, err := stream.NewGroup(t.test, streams)
	if err != nil {
		return t.ctl.fail("data streams", err)
	}
	if err := errors.Join(t.ctl.enter(wire.TestStart), t.ctl.enter(wire.TestRunning)); err != nil {
		return t.ctl.fail("start", err)
	}
	g.Start()
	state, err := t.watch(ctx, g)
	_ = g.Stop() // a stream that broke shows in the control connection, or in the counts
	t.outcome = stream.Outcome{Test: t.test, Own: g.Report(), Group: g}
	for _, s := range streams {
		s.Conn.Close()
	}
	if err != nil {
		return err
	}
	if state != wire.TestEnd {
		return t.ctl.unexpected(state)
	}
	return t.exchange(streams)
}

// terminate tells the client that the server stops.
func (t *test) terminate(why error) error {
	return errors.Join(why, t.ctl.enter(wire.ServerTerminate))
}

// watch returns what the client says next, or why the test cannot go on.
func (t *test) watch(ctx context.Context, g *stream.Group) (wire.State, error) {
	if err := t.ctl.deadline(0); err != nil {
		return 0, err
	}
	type answer struct {
		state wire.State
		err   error
	}
	said := make(chan answer, 1)
	go func() {
		var b [1]byte
		_, err := io.ReadFull(t.ctl, b[:])
		said <- answer{wire.State(int8(b[0])), err}
	}()
	limit := time.Duration(t.params.Time+t.params.Omit)*time.Second + grace
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var moved int64
	begin, last := time.Now(), time.Now()
	for {
		select {
		case a := <-said:
			if a.err != nil {
				return 0, t.ctl.fail("waiting for "+wire.TestEnd.String(), a.err)
			}
			return a.state, nil
		case <-ctx.Done():
			return 0, t.terminate(ctx.Err())
		case <-tick.C:
		}
		if n := total(g); n != moved {
			moved, last = n, time.Now()
		}
		if t.params.Time > 0 && time.Since(begin) > limit || time.Since(last) > idleTimeout {
			return 0, t.refuse(wire.RemoteError{Code: wire.CodeTimer}, errors.New("the client did not end the test"))
		}
	}
}

func total(g *stream.Group) (bytes int64) {
	for _, s := range g.Streams {
		bytes += s.Counts().Bytes
	}
	return bytes
}

// exchange swaps results with the client.
func (t *test) exchange(streams []*stream.Stream) error {
	if err := t.ctl.enter(wire.ExchangeResults); err != nil {
		return t.ctl.fail("ask for results", err)
	}
	b, err := t.ctl.document(wire.MaxResults)
	if err != nil {
		return t.ctl.fail("read results", err)
	}
	theirs, err := wire.ParseResults(b)
	if err != nil {
		return t.ctl.fail("read results", err)
	}
	ids := map[int]int{}
	for i := range streams {
		ids[wire.StreamID(i)] = i
	}
	remote, err := report(theirs, ids, streams)
	if err != nil {
		return t.ctl.fail("read results", err)
	}
	t.outcome.Remote = &remote
	own := results(t.outcome.Own, streams, t.test)
	if t.params.ServerOutput {
		own.OutputText = t.outcome.Text()
	}
	if err := t.ctl.putDocument(own); err != nil {
		return t.ctl.fail("send results", err)
	}
	if err := t.ctl.enter(wire.DisplayResults); err != nil {
		return t.ctl.fail("finish", err)
	}
	// A client that leaves without IPERF_DONE has had everything.
	_, _ = t.ctl.readState()
	return nil
}
