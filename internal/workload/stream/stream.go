package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Role is what this end does on a stream.
type Role int

// The roles.
const (
	Sender Role = iota
	Receiver
	Requester // sends a request, waits for the response
	Responder // waits for a request, sends the response
)

// A Stream is one data connection and what this end counts on it.
type Stream struct {
	Role Role
	Conn net.Conn

	// Drain makes a receiver read what has arrived before it stops: its sender
	// has stopped already.
	Drain bool

	// Unnumbered says that the peer's datagrams carry no sequence numbers, and
	// that an empty one ends the stream.
	Unnumbered bool

	// Connect, of a Requester, makes each transaction open a connection of its
	// own; Conn is nil then.
	Connect func(context.Context) (net.Conn, error)

	// Latency is filled by a Requester, in nanoseconds; read it after the test.
	Latency *hdrhistogram.Histogram

	// Congestion is the algorithm in force on Conn; read it after the test.
	Congestion string

	test   Test
	index  int
	halt   *atomic.Bool
	common func() []byte // the payload that all TCP senders of a test send
	budget *atomic.Int64 // messages left for all senders, or bytes for all receivers; nil: no limit

	drainUntil time.Time

	mu  sync.Mutex
	now Counts
}

// Counts returns what was counted so far.
func (s *Stream) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// publish makes c what Counts returns.
func (s *Stream) publish(c Counts) {
	s.mu.Lock()
	s.now = c
	s.mu.Unlock()
}

// publishEvery is how many small messages a loop moves between two calls of
// publish, so that counting does not cost what is counted.
const publishEvery = 32

// errHalted ends a loop whose test was stopped.
var errHalted = errors.New("halted")

// run moves payload on a thread of its own until the test ends.
func (s *Stream) run(start time.Time) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if len(s.test.CPUs) > 0 {
		runtime.LockOSThread() // never unlocked: a pinned thread must end with the stream
		if err := pin(s.test.CPUs[s.index%len(s.test.CPUs)]); err != nil {
			return err
		}
	}
	before := threadCPU()
	if s.Connect != nil {
		c := Counts{Retransmits: -1}
		err := s.requestConnecting(&c)
		c.CPU = threadCPU() - before
		s.publish(c)
		return s.ending(err)
	}
	k, err := newSock(s.Conn)
	if err != nil {
		return fmt.Errorf("data socket: %w", err)
	}
	if s.test.Protocol == TCP {
		s.Congestion = k.congestion()
	}
	c := Counts{Retransmits: -1}
	err = s.loop(k, start, &c)
	if s.Role == Receiver && s.test.Protocol == UDP {
		c.Dropped = k.drops()
	}
	if s.test.Protocol == TCP {
		c.Retransmits = k.retransmits()
	}
	c.CPU = threadCPU() - before
	s.publish(c)
	return s.ending(err)
}

// ending returns what of a loop's end is an error.
func (s *Stream) ending(err error) error {
	if errors.Is(err, errHalted) || errors.Is(err, io.EOF) || s.halt.Load() {
		return nil
	}
	return err
}

func (s *Stream) loop(k *sock, start time.Time, c *Counts) error {
	udp := s.test.Protocol == UDP
	switch {
	case s.Role == Sender && udp:
		return s.sendDatagrams(k, start, c)
	case s.Role == Receiver && udp:
		return s.receiveDatagrams(k, c)
	case s.Role == Sender:
		return s.send(k, start, c)
	case s.Role == Receiver:
		return s.receive(k, c)
	case s.Role == Requester:
		return s.request(k, c)
	}
	return s.respond(k, c)
}

// spent takes n received bytes off the budget and reports whether none is left.
func (s *Stream) spent(n int) bool {
	return s.budget != nil && s.budget.Add(int64(-n)) <= 0
}

// take asks the budget for n messages; fewer, or none, are left near its end.
func (s *Stream) take(n int) int {
	if s.budget == nil {
		return n
	}
	if left := s.budget.Add(int64(-n)); left < 0 {
		return max(n+int(left), 0)
	}
	return n
}
