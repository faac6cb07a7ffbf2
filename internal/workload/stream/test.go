// Package stream offers load with TCP and UDP streams and counts what arrives.
// It is the engine only: threads, sockets, counters. How two ends agree on a
// test is a Dialect's business; packages iperf3 and netperf below this one
// speak those tools' protocols, as client and as server.
package stream

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/linerate/linerate/result"
)

// Protocol is the transport.
type Protocol string

// The transports.
const (
	TCP Protocol = "tcp"
	UDP Protocol = "udp"
)

// Direction is the way of the payload, seen from the client.
type Direction string

// The directions.
const (
	Transmit Direction = "tx"
	Receive  Direction = "rx"
	Both     Direction = "both"
)

// Test is what two ends agree to do. A zero value means the default of the
// field, or no limit.
type Test struct {
	Protocol  Protocol
	Direction Direction
	Parallel  int // streams in each direction

	Message  int           // bytes of one application write; of UDP, a datagram's payload
	Duration time.Duration // after Omit; 0: until Bytes or Messages
	Omit     time.Duration // start of the test that does not count
	Bytes    int64
	Messages int64

	Rate  float64 // intended load of each stream, bit/s
	Burst int     // messages sent at once when Rate is given

	Request, Response int  // bytes of a transaction; both 0: bulk transfer
	Connect           bool // a connection for each transaction

	Socket     Socket
	ZeroCopy   ZeroCopy // how TCP payload is sent
	Discard    bool     // received TCP payload is dropped in the kernel (MSG_TRUNC)
	Batch      int      // datagrams of one system call, where the kernel can
	NoOffload  bool     // no UDP segmentation (GSO) and coalescing (GRO) by the kernel
	Counters32 bool     // 32-bit sequence numbers in datagrams
	Repeating  bool     // payload of repeating digits instead of random bytes
	CPUs       []int    // cores to pin the stream threads to, in turn
}

// ZeroCopy is a way to send without copying from user space.
type ZeroCopy string

// The ways to send.
const (
	Copy     ZeroCopy = ""
	Sendfile ZeroCopy = "sendfile"     // sendfile(2) from memory
	Zerocopy ZeroCopy = "msg_zerocopy" // MSG_ZEROCOPY, linux Documentation/networking/msg_zerocopy.rst
)

// Defaults of the fields of Test.
const (
	DefaultMessage  = 128 << 10
	DefaultDatagram = 1472 // fills a frame of 1,500 bytes with IPv4
	DefaultDuration = 10 * time.Second
	defaultBatch    = 64
	maxDatagram     = 65507 // UDP payload within an IPv4 packet, RFC 768
	maxMessage      = 16 << 20
)

// Defaulted returns t with its defaults filled in.
func (t Test) Defaulted() Test {
	if t.Protocol == "" {
		t.Protocol = TCP
	}
	if t.Direction == "" {
		t.Direction = Transmit
	}
	t.Parallel = max(t.Parallel, 1)
	if t.Message == 0 {
		t.Message = DefaultMessage
		if t.Protocol == UDP {
			t.Message = DefaultDatagram
		}
	}
	if t.Duration == 0 && t.Bytes == 0 && t.Messages == 0 {
		t.Duration = DefaultDuration
	}
	if t.Batch == 0 {
		t.Batch = defaultBatch
	}
	return t
}

// Check says what of a defaulted t cannot be done.
func (t Test) Check() error {
	limit := maxMessage
	if t.Protocol == UDP {
		limit = maxDatagram
	}
	switch {
	case t.Protocol != TCP && t.Protocol != UDP:
		return fmt.Errorf("protocol %q: want tcp or udp", t.Protocol)
	case t.Direction != Transmit && t.Direction != Receive && t.Direction != Both:
		return fmt.Errorf("direction %q: want tx, rx or both", t.Direction)
	case t.Parallel > 128:
		return fmt.Errorf("%d parallel streams: want at most 128", t.Parallel)
	case t.Message < 1 || t.Message > limit:
		return fmt.Errorf("message of %d bytes: want 1 to %d with %s", t.Message, limit, t.Protocol)
	case t.Rate < 0 || t.Duration < 0 || t.Omit < 0 || t.Bytes < 0 || t.Messages < 0 || t.Request < 0 || t.Response < 0:
		return fmt.Errorf("a rate, time, count or size is negative")
	case t.Request > limit || t.Response > limit:
		return fmt.Errorf("transaction of %d and %d bytes: want at most %d", t.Request, t.Response, limit)
	case t.ZeroCopy != Copy && t.Protocol == UDP:
		return fmt.Errorf("zero copy by %s: only with tcp", t.ZeroCopy)
	}
	return nil
}

// Transactions reports whether t measures requests and responses.
func (t Test) Transactions() bool { return t.Request > 0 || t.Response > 0 }

// Senders and Receivers return the number of streams on which the client
// sends and receives.
func (t Test) Senders() int   { return t.count(Transmit) }
func (t Test) Receivers() int { return t.count(Receive) }

func (t Test) count(d Direction) int {
	if t.Direction == d || t.Direction == Both {
		return t.Parallel
	}
	return 0
}

// bufferBudget bounds the buffers of all streams of one test, so that a client
// cannot ask a small server for more memory than it has.
const bufferBudget = 16 << 20

// share returns a stream's part of the budget, from least to most bytes.
func (t Test) share(least, most int) int {
	return min(max(bufferBudget/max(t.Senders()+t.Receivers(), 1), least), most)
}

// Kind names the workload as result.Workload wants it.
func (t Test) Kind() string {
	switch {
	case t.Transactions() && t.Connect:
		return string(t.Protocol) + "_crr"
	case t.Transactions():
		return string(t.Protocol) + "_rr"
	}
	return string(t.Protocol) + "_stream"
}

// Spec returns the parameters that repeat t; dialect and peer are added.
func (t Test) Spec(dialect, peer string) result.Workload {
	p := map[string]string{
		"dialect": dialect, "peer": peer, "direction": string(t.Direction),
		"parallel": strconv.Itoa(t.Parallel), "message": strconv.Itoa(t.Message),
	}
	set := func(name, v string, given bool) {
		if given {
			p[name] = v
		}
	}
	set("duration", t.Duration.String(), t.Duration > 0)
	set("omit", t.Omit.String(), t.Omit > 0)
	set("bytes", strconv.FormatInt(t.Bytes, 10), t.Bytes > 0)
	set("messages", strconv.FormatInt(t.Messages, 10), t.Messages > 0)
	set("rate", result.FormatBits(t.Rate), t.Rate > 0)
	set("burst", strconv.Itoa(t.Burst), t.Burst > 0)
	set("request", strconv.Itoa(t.Request), t.Transactions())
	set("response", strconv.Itoa(t.Response), t.Transactions())
	set("zerocopy", string(t.ZeroCopy), t.ZeroCopy != Copy)
	set("discard", "true", t.Discard)
	set("offload", strconv.FormatBool(!t.NoOffload), t.Protocol == UDP)
	set("batch", strconv.Itoa(t.Batch), t.Protocol == UDP)
	maps.Copy(p, t.Socket.params())
	return result.Workload{Kind: t.Kind(), Params: p}
}
