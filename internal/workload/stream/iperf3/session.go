package iperf3

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	wire "github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/internal/workload/stream"
)

// session is a test at the client.
type session struct {
	ctl     *control
	test    stream.Test
	addr    string
	cookie  wire.Cookie
	ids     map[int]int // wire stream id -> index
	streams []*stream.Stream
	peer    string
	broken  chan error
	ended   chan error // the server's answer to TEST_END
}

func (s *session) open(ctx context.Context, p wire.Params) error {
	if err := s.ctl.put(s.cookie[:]); err != nil {
		return s.ctl.fail("send cookie", err)
	}
	if err := s.ctl.expect(wire.ParamExchange); err != nil {
		return err
	}
	if err := s.ctl.putDocument(p); err != nil {
		return s.ctl.fail("send parameters", err)
	}
	if err := s.created(); err != nil {
		return err
	}
	s.ids = map[int]int{}
	for i := range s.test.Senders() + s.test.Receivers() {
		role := stream.Sender
		if i >= s.test.Senders() {
			role = stream.Receiver
		}
		st, err := s.connect(ctx, role)
		if err != nil {
			return s.ctl.fail(fmt.Sprintf("connect stream %d", i+1), err)
		}
		s.ids[wire.StreamID(i)] = i
		s.streams = append(s.streams, st)
	}
	return nil
}

// created waits for CREATE_STREAMS; a linerate server announces itself before.
func (s *session) created() error {
	st, err := s.ctl.readState()
	if err != nil {
		return s.ctl.fail("waiting for "+wire.CreateStreams.String(), err)
	}
	if st == wire.Extended {
		if _, err := s.ctl.document(wire.MaxParams); err != nil {
			return s.ctl.fail("announcement of the server", err)
		}
		s.peer = "linerate"
		return s.ctl.expect(wire.CreateStreams)
	}
	if st != wire.CreateStreams {
		return s.ctl.unexpected(st)
	}
	s.ctl.phase.Store(int32(st))
	return nil
}

// connect opens one data stream and waits until the server has it: streams are
// told apart by their order only.
func (s *session) connect(ctx context.Context, role stream.Role) (*stream.Stream, error) {
	conn, err := s.test.Socket.Dial(ctx, s.test.Protocol, s.addr)
	if err != nil {
		return nil, err
	}
	if s.test.Protocol == stream.UDP {
		err = hello(conn)
	} else {
		_, err = conn.Write(s.cookie[:])
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &stream.Stream{Role: role, Conn: conn}, nil
}

// Bounds of the UDP hello: iperf3 sends it once and waits 30 s.
const (
	helloTries   = 10
	helloTimeout = time.Second
)

// hello opens a UDP stream; a lost hello or reply is repeated.
func hello(conn net.Conn) error {
	b := make([]byte, 64<<10)
	for range helloTries {
		if _, err := conn.Write(wire.Hello[:]); err != nil {
			return err
		}
		if err := conn.SetReadDeadline(time.Now().Add(helloTimeout)); err != nil {
			return err
		}
		for {
			n, err := conn.Read(b)
			if err != nil {
				break
			}
			if wire.IsReply(b[:n]) {
				return conn.SetReadDeadline(time.Time{})
			}
		}
	}
	return fmt.Errorf("no answer to %d UDP hellos: is UDP port %s open on the way?", helloTries, conn.RemoteAddr())
}

func (s *session) Streams() []*stream.Stream { return s.streams }

func (s *session) Broken() <-chan error { return s.broken }

// Start waits for the server's go and from then on watches the control
// connection.
func (s *session) Start(ctx context.Context) error {
	defer s.ctl.until(ctx)()
	if err := s.ctl.expect(wire.TestStart); err != nil {
		return err
	}
	if err := s.ctl.expect(wire.TestRunning); err != nil {
		return err
	}
	s.ended = make(chan error, 1)
	if err := s.ctl.deadline(0); err != nil {
		return err
	}
	go s.watch()
	return nil
}

// watch reads the one state that follows a running test.
func (s *session) watch() {
	var b [1]byte
	_, err := io.ReadFull(s.ctl, b[:])
	switch got := wire.State(int8(b[0])); {
	case err != nil:
		err = s.ctl.fail("waiting for "+wire.ExchangeResults.String(), err)
	case got != wire.ExchangeResults:
		err = s.ctl.unexpected(got)
	}
	if err != nil {
		s.broken <- err
	}
	s.ended <- err
}

// End tells the server that the test is over and exchanges results.
func (s *session) End(ctx context.Context, own stream.Report) (stream.Report, error) {
	defer s.ctl.until(ctx)()
	if err := s.ctl.enter(wire.TestEnd); err != nil {
		return stream.Report{}, s.ctl.fail("end the test", err)
	}
	select {
	case err := <-s.ended:
		if err != nil {
			return stream.Report{}, err
		}
	case <-time.After(s.ctl.timeout):
		return stream.Report{}, s.ctl.fail("waiting for "+wire.ExchangeResults.String(), os.ErrDeadlineExceeded)
	}
	s.ctl.phase.Store(int32(wire.ExchangeResults))
	if err := s.ctl.putDocument(results(own, s.streams, s.test)); err != nil {
		return stream.Report{}, s.ctl.fail("send results", err)
	}
	b, err := s.ctl.document(wire.MaxResults)
	if err != nil {
		return stream.Report{}, s.ctl.fail("read results", err)
	}
	r, err := wire.ParseResults(b)
	if err != nil {
		return stream.Report{}, s.ctl.fail("read results", err)
	}
	remote, err := report(r, s.ids, s.streams)
	if err != nil {
		return stream.Report{}, s.ctl.fail("read results", err)
	}
	remote.Peer = s.peer
	if err := s.ctl.expect(wire.DisplayResults); err != nil {
		return remote, err
	}
	if err := s.ctl.enter(wire.Done); err != nil {
		return remote, s.ctl.fail("finish", err)
	}
	return remote, nil
}

// Close closes every connection.
func (s *session) Close() error {
	for _, st := range s.streams {
		st.Conn.Close()
	}
	return s.ctl.Close()
}
