//go:build linux

package stream

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/result"
)

// pair is a dialect without a peer: both ends of each stream are ours.
type pair struct {
	test    Test
	streams []*Stream
	far     *Group
	drops   bool // the far end reads nothing until the end
}

func (*pair) Name() string { return "pair" }

func (p *pair) Open(_ context.Context, t Test) (Session, error) {
	p.test = t
	var far []*Stream
	for i := range t.Senders() + t.Receivers() {
		near, other, err := connected(t)
		if err != nil {
			return nil, err
		}
		roles := [2]Role{Sender, Receiver}
		if i >= t.Senders() {
			roles = [2]Role{Receiver, Sender}
		}
		if t.Transactions() {
			roles = [2]Role{Requester, Responder}
		}
		p.streams = append(p.streams, &Stream{Role: roles[0], Conn: near})
		far = append(far, &Stream{Role: roles[1], Conn: other, Drain: roles[1] == Receiver})
	}
	t.Duration, t.Bytes, t.Messages = 0, 0, 0
	var err error
	p.far, err = NewGroup(t, far)
	return p, err
}

// connected returns two ends of one connection on loopback.
func connected(t Test) (near, far net.Conn, err error) {
	if t.Protocol == UDP {
		a, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return nil, nil, err
		}
		at := a.LocalAddr().String()
		b, err := t.Socket.Dial(context.Background(), UDP, at)
		if err != nil {
			return nil, nil, err
		}
		local := t.Socket
		local.LocalPort = a.LocalAddr().(*net.UDPAddr).Port
		a.Close()
		c, err := local.Dial(context.Background(), UDP, b.LocalAddr().String())
		return b, c, err
	}
	ln, err := t.Socket.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer ln.Close()
	if near, err = t.Socket.Dial(context.Background(), TCP, ln.Addr().String()); err != nil {
		return nil, nil, err
	}
	far, err = ln.Accept()
	return near, far, err
}

func (p *pair) Streams() []*Stream { return p.streams }
func (p *pair) Start(context.Context) error {
	if !p.drops {
		p.far.Start()
	}
	return nil
}
func (p *pair) Broken() <-chan error { return nil }

func (p *pair) End(context.Context, Report) (Report, error) {
	if p.drops {
		p.far.Start()
	}
	err := p.far.Stop()
	r := p.far.Report()
	r.Peer = linerate
	return r, err
}

func (p *pair) Close() error {
	for _, s := range append(p.streams, p.far.Streams...) {
		s.Conn.Close()
	}
	return nil
}

func runPair(t *testing.T, p *pair, test Test) Outcome {
	t.Helper()
	c := &Client{Test: test.Defaulted(), Dialect: p}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c.Outcome()
}

// Every way to move payload, by count: each end counts the same bytes.
func TestStreams(t *testing.T) {
	for name, test := range map[string]Test{
		"copy": {Bytes: 4 << 20}, "small": {Messages: 5000, Message: 64, Socket: Socket{NoDelay: true}}, "sendfile": {Bytes: 4 << 20, ZeroCopy: Sendfile},
		"msg_zerocopy": {Bytes: 4 << 20, ZeroCopy: Zerocopy}, "discard": {Bytes: 4 << 20, Discard: true}, "pinned": {Bytes: 4 << 20, CPUs: []int{0}},
		"udp": {Protocol: UDP, Messages: 500, Rate: 100e6}, "udp one by one": {Protocol: UDP, Messages: 500, Rate: 100e6, NoOffload: true, Batch: 1},
		"udp batches": {Protocol: UDP, Messages: 500, Rate: 100e6, NoOffload: true}, "udp 32 bit": {Protocol: UDP, Messages: 500, Rate: 100e6, Counters32: true},
		"udp 16 bytes": {Protocol: UDP, Messages: 500, Rate: 5e6, Message: 16}, "udp fragments": {Protocol: UDP, Messages: 50, Rate: 200e6, Message: 65507},
	} {
		t.Run(name, func(t *testing.T) {
			if test.Protocol == UDP {
				test.Socket.RecvBuffer = 4 << 20 // a busy machine reads late
			}
			o := runPair(t, &pair{}, test)
			_, _, from, to := o.Sides(Transmit)
			want := o.Test.Total()
			if from.Bytes != want || test.Protocol == UDP && to.Bytes != want {
				t.Errorf("sent %d, received %d, want %d", from.Bytes, to.Bytes, want)
			}
			if test.Protocol == UDP && (to.Unique != test.Messages || to.Lost() != 0 || to.Duplicates != 0 || to.Reordered != 0) {
				t.Errorf("%+v", to)
			}
		})
	}
}

func TestTransactions(t *testing.T) {
	for _, p := range []Protocol{TCP, UDP} {
		o := runPair(t, &pair{}, Test{Protocol: p, Messages: 300, Request: 10, Response: 2000})
		if n, _ := result.Get(o.Values(), result.Transactions); n != 300 || o.Latencies().TotalCount() != 300 {
			t.Errorf("%s: %v transactions, %d latencies", p, n, o.Latencies().TotalCount())
		}
	}
}

// A lost datagram ends its own transaction, not the test (tohojo/flent #106),
// and counts as none.
func TestTransactionsSurviveLoss(t *testing.T) {
	o := runPair(t, &pair{drops: true}, Test{Protocol: UDP, Messages: 2, Request: 10, Response: 10})
	if n, ok := result.Get(o.Values(), result.Transactions); !ok || n != 0 || o.Latencies().TotalCount() != 0 {
		t.Errorf("%v transactions, %d latencies", n, o.Latencies().TotalCount())
	}
}

// Loss with an omit period has been shown as 179 % (esnet/iperf #1489): what the
// period omits is taken from every counter alike.
func TestOmitCountsAlike(t *testing.T) {
	o := runPair(t, &pair{}, Test{Protocol: UDP, Rate: 20e6, Omit: 300 * time.Millisecond, Duration: 300 * time.Millisecond,
		Socket: Socket{RecvBuffer: 4 << 20}})
	_, _, _, to := o.Sides(Transmit)
	loss, ok := result.Get(o.Values(), result.LossRatio)
	if !ok || loss < 0 || loss > 0.05 {
		t.Errorf("loss %v", loss)
	}
	if want := int64(20e6 / 8 * 0.3); to.Bytes < want/2 || to.Bytes > want*2 {
		t.Errorf("%d bytes after the omit period, want about %d", to.Bytes, want)
	}
}

// A receiver whose buffer overflows (esnet/iperf #296) shows where its
// datagrams went.
func TestSocketDrops(t *testing.T) {
	o := runPair(t, &pair{drops: true}, Test{Protocol: UDP, Messages: 2000, Message: 1400, NoOffload: true, Socket: Socket{RecvBuffer: 64 << 10}})
	vs := o.Values()
	lost, _ := result.Get(vs, result.DatagramsLost)
	dropped, ok := result.Get(vs, result.DatagramsDropped)
	if !ok || lost == 0 || dropped != lost {
		t.Errorf("%v lost, %v of them dropped by the socket", lost, dropped)
	}
}

// What the receiver says of late, repeated and missing datagrams reaches the
// client (esnet/iperf #469, #1142).
func TestReceiverTellsLateFromLost(t *testing.T) {
	near, far, err := connected(Test{Protocol: UDP})
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	s := &Stream{Role: Receiver, Conn: far, Drain: true}
	g, err := NewGroup(Test{Protocol: UDP, Message: 100}.Defaulted(), []*Stream{s})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Conn.Close() }()
	g.Start()
	b := make([]byte, 100)
	for _, seq := range []uint64{1, 2, 5, 4, 4, 7} { // 3 and 6 are lost, 4 is late and comes twice
		iperf3.Header{Seq: seq}.Put(b, true)
		if _, err := near.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Stop(); err != nil {
		t.Fatal(err)
	}
	c := g.Report().Streams[0]
	if c.Lost() != 2 || c.Reordered != 1 || c.Duplicates != 1 || c.Unique != 5 || c.Received != 6 {
		t.Errorf("%+v", c)
	}
}

// A rate that was not reached shows as such (HewlettPackard/netperf #39): what
// was asked for, what was sent and what arrived are three figures.
func TestPacedTellsIntendedFromSent(t *testing.T) {
	const rate = 40e6
	o := runPair(t, &pair{}, Test{Protocol: UDP, Rate: rate, Duration: 200 * time.Millisecond, Socket: Socket{RecvBuffer: 4 << 20}})
	vs := o.Values()
	intended, _ := result.Get(vs, result.IntendedRate)
	sent, _ := result.Get(vs, result.SentRate)
	got, ok := result.Get(vs, result.Goodput)
	if !ok || intended != rate || sent <= 0 || sent > 1.1*rate || got > 1.1*sent {
		t.Errorf("intended %v, sent %v, received %v", intended, sent, got)
	}
}

// An interrupt ends a test like its own end does, with the peer's figures.
func TestInterruptKeepsResults(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, stop)
	c := &Client{Test: Test{Duration: time.Minute}.Defaulted(), Dialect: &pair{}}
	err := c.Run(ctx)
	o := c.Outcome()
	if !errors.Is(err, context.Canceled) || o.Remote == nil || o.Remote.Streams[0].Bytes == 0 {
		t.Errorf("%v, %+v", err, o)
	}
}

// The far end closes early: the stream ends, the test too.
func TestPeerCloses(t *testing.T) {
	near, far, err := connected(Test{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Stream{Role: Receiver, Conn: near}
	g, err := NewGroup(Test{}.Defaulted(), []*Stream{s})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Conn.Close() }()
	g.Start()
	if _, err := io.WriteString(far, "hello"); err != nil {
		t.Fatal(err)
	}
	far.Close()
	select {
	case <-g.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the stream goes on after the end of its connection")
	}
	if err := g.Stop(); err != nil || g.Report().Streams[0].Bytes != 5 {
		t.Errorf("%v, %+v", err, g.Report())
	}
}

// No goodput is made up where the receiver said nothing.
func TestNoGoodputWithoutTheReceiver(t *testing.T) {
	o := runPair(t, &pair{}, Test{Bytes: 1 << 20})
	o.Remote = nil
	if v, ok := result.Get(o.Values(), result.Goodput); ok {
		t.Errorf("goodput %v", v)
	}
	if _, ok := result.Get(o.Values(), result.SentRate); !ok {
		t.Error("what was sent is lost too")
	}
}
