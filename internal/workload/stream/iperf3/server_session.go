package iperf3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	wire "github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/internal/workload/stream"
)

// test is one test at the server.
type test struct {
	srv     *Server
	ctl     *control
	params  wire.Params
	test    stream.Test
	outcome stream.Outcome

	mu      sync.Mutex
	waiting chan arrival // data connections, nil while none is wanted
}

// offer hands a data connection to the test, false where it wants none.
func (t *test) offer(a arrival) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case t.waiting <- a: // never ready while nil
		return true
	default:
		return false
	}
}

// want opens and closes the door for n data connections.
func (t *test) want(n int) chan arrival {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.waiting
	t.waiting = nil
	if n > 0 {
		t.waiting = make(chan arrival, n)
		return t.waiting
	}
	return old
}

// agree reads the parameters, and refuses those it cannot serve.
func (t *test) agree() error {
	if err := t.ctl.enter(wire.ParamExchange); err != nil {
		return t.ctl.fail("answer the cookie", err)
	}
	b, err := t.ctl.document(wire.MaxParams)
	if err == nil {
		t.params, err = wire.ParseParams(b)
	}
	if err != nil {
		return t.refuse(wire.RemoteError{Code: wire.CodeParams}, err)
	}
	if err := t.check(); err != nil {
		var code wire.RemoteError
		if !errors.As(err, &code) {
			code.Code = wire.CodeAuth
		}
		return t.refuse(code, err)
	}
	t.test = serverTest(t.params)
	if t.params.Extension != nil {
		err := t.ctl.enter(wire.Extended)
		if err == nil {
			err = t.ctl.putDocument(wire.Extension{Version: 1})
		}
		if err != nil {
			return t.ctl.fail("announce linerate", err)
		}
	}
	return nil
}

// refuse answers SERVER_ERROR and returns why.
func (t *test) refuse(code wire.RemoteError, why error) error {
	err := t.ctl.fail("parameters", why)
	bad := wire.ServerError
	return errors.Join(err, t.ctl.put(code.Append([]byte{byte(bad)})))
}

func (t *test) check() error {
	p, s := t.params, t.srv
	if err := p.Check(); err != nil {
		return err
	}
	if s.MaxDuration > 0 && time.Duration(p.Time+p.Omit)*time.Second > s.MaxDuration {
		return wire.RemoteError{Code: wire.CodeMaxDuration}
	}
	if s.MaxRate > 0 && (p.Rate == 0 || float64(p.Rate)*float64(p.Parallel) > s.MaxRate) {
		return wire.RemoteError{Code: wire.CodeTotalRate}
	}
	if s.Key == nil {
		return nil
	}
	c, err := wire.ParseToken(s.Key, p.AuthToken)
	if err != nil {
		return err
	}
	return s.Users.Admit(c, time.Now(), s.Skew)
}

// serverTest is the test as the server runs it: it ends when the client says
// so, not by a count of its own.
func serverTest(p wire.Params) stream.Test {
	t := stream.Test{
		Protocol: stream.TCP, Direction: stream.Transmit, Parallel: p.Parallel, Message: p.Len,
		Omit: time.Duration(p.Omit) * time.Second, Rate: float64(p.Rate), Burst: p.Burst,
		Discard: bool(p.SkipCopy), Counters32: !bool(p.Counters64), Repeating: bool(p.Repeating),
		Socket: stream.Socket{Window: p.Window, MSS: p.MSS, NoDelay: p.NoDelay, TOS: p.TOS, Congestion: p.Congestion,
			Pacing: uint64(p.FQRate), DontFrag: bool(p.DontFragment)},
	}
	if p.UDP {
		t.Protocol = stream.UDP
	}
	switch {
	case p.Reverse:
		t.Direction = stream.Receive
	case p.Bidir:
		t.Direction = stream.Both
	}
	if p.ZeroCopy != 0 && !p.UDP {
		t.ZeroCopy = stream.Sendfile
	}
	if p.Affinity != nil {
		t.CPUs = []int{*p.Affinity}
	}
	t = t.Defaulted()
	t.Duration = 0
	return t
}

// connect asks for the data streams and waits for them, and for the control
// connection to stay.
func (t *test) connect(ctx context.Context) ([]*stream.Stream, error) {
	n := t.test.Senders() + t.test.Receivers()
	in := t.want(n)
	defer func() {
		t.want(0)
		for len(in) > 0 {
			(<-in).Close()
		}
	}()
	if t.test.Protocol == stream.UDP {
		leave := t.srv.udp.enter(t, in)
		defer leave()
	} else if name := t.test.Socket.Congestion; name != "" {
		// Set on the listener, so that the connections are born with it; see Socket.
		restore, err := t.srv.inherit(name)
		if err != nil {
			return nil, errors.Join(err, t.refuse(wire.RemoteError{Code: wire.CodeParams}, err))
		}
		defer restore()
		t.test.Socket.Congestion = ""
	}
	if err := t.ctl.enter(wire.CreateStreams); err != nil {
		return nil, err
	}
	came, err := t.gather(ctx, in, n)
	var streams []*stream.Stream
	for i, a := range came {
		role := stream.Receiver // the first streams are those on which the client sends
		if i >= t.test.Senders() {
			role = stream.Sender
		}
		streams = append(streams, &stream.Stream{Role: role, Conn: a.Conn, Drain: role == stream.Receiver})
		if err == nil {
			err = t.test.Socket.Accepted(a.Conn)
		}
	}
	if err != nil {
		return streams, err
	}
	t.test.Socket.Congestion = t.params.Congestion
	return streams, nil
}

// gather waits for n data connections and returns those that came, in the order
// of their acceptance.
func (t *test) gather(ctx context.Context, in chan arrival, n int) (came []arrival, err error) {
	timer := time.NewTimer(t.ctl.timeout)
	defer timer.Stop()
	for len(came) < n && err == nil {
		select {
		case a := <-in:
			came = append(came, a)
		case <-timer.C:
			err = fmt.Errorf("%d of %d came within %v", len(came), n, t.ctl.timeout)
		case <-ctx.Done():
			err = t.terminate(ctx.Err())
		}
	}
	slices.SortFunc(came, func(a, b arrival) int { return cmp.Compare(a.place, b.place) })
	return came, err
}
