//go:build linux

package iperf3

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/testnet"
	wire "github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/internal/workload/stream"
)

// script is what a hostile client does with its control connection; each step
// may leave.
type script func(c *net.TCPConn, addr string)

// greet sends a cookie and reads PARAM_EXCHANGE.
func greet(c *net.TCPConn) wire.Cookie {
	k := wire.NewCookie()
	_, _ = c.Write(k[:])
	expectByte(c)
	return k
}

func expectByte(c net.Conn) byte {
	var b [1]byte
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.ReadFull(c, b[:])
	return b[0]
}

func document(s string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...)
}

const goodParams = `{"tcp":true,"omit":0,"time":1,"num":0,"blockcount":0,"parallel":1,"len":1000}`

// running goes on to TEST_RUNNING and returns the data connection.
func running(c *net.TCPConn, addr string) net.Conn {
	k := greet(c)
	_, _ = c.Write(document(goodParams))
	expectByte(c)
	d, err := net.Dial("tcp", addr)
	if err != nil {
		return nil
	}
	_, _ = d.Write(k[:])
	expectByte(c)
	expectByte(c)
	_, _ = d.Write(make([]byte, 5000))
	time.Sleep(20 * time.Millisecond)
	return d
}

func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	c.Close()
}

var hostile = map[string]script{
	"says nothing and leaves": func(*net.TCPConn, string) {},
	"half a cookie":           func(c *net.TCPConn, _ string) { _, _ = c.Write(make([]byte, 20)) },
	"reset after the cookie":  func(c *net.TCPConn, _ string) { greet(c); reset(c) },
	"parameters of 4 GiB":     func(c *net.TCPConn, _ string) { greet(c); _, _ = c.Write([]byte{255, 255, 255, 255}); expectByte(c) },
	"parameters of no length": func(c *net.TCPConn, _ string) { greet(c); _, _ = c.Write([]byte{0, 0, 0, 0}); expectByte(c) },
	"parameters cut short":    func(c *net.TCPConn, _ string) { greet(c); _, _ = c.Write(document(goodParams)[:20]) },
	"a JSON bomb": func(c *net.TCPConn, _ string) {
		greet(c)
		_, _ = c.Write(document(strings.Repeat("[", 8000)))
		expectByte(c)
	},
	"parameters that are text": func(c *net.TCPConn, _ string) { greet(c); _, _ = c.Write(document("GET / HTTP/1.1")); expectByte(c) },
	"block size 0":             func(c *net.TCPConn, _ string) { greet(c); _, _ = c.Write(document(`{"tcp":true}`)); expectByte(c) },
	"no data streams": func(c *net.TCPConn, _ string) {
		greet(c)
		_, _ = c.Write(document(goodParams))
		expectByte(c)
		expectByte(c)
	},
	"silent UDP": func(c *net.TCPConn, _ string) {
		greet(c)
		_, _ = c.Write(document(`{"udp":true,"len":100}`))
		expectByte(c)
		expectByte(c)
	},
	"reset at CREATE_STREAMS": func(c *net.TCPConn, _ string) {
		greet(c)
		_, _ = c.Write(document(goodParams))
		expectByte(c)
		reset(c)
	},
	"reset while running": func(c *net.TCPConn, addr string) { d := running(c, addr); reset(c); d.Close() },
	"data reset while running": func(c *net.TCPConn, addr string) {
		reset(running(c, addr).(*net.TCPConn))
		time.Sleep(50 * time.Millisecond)
	},
	"an unknown state": func(c *net.TCPConn, addr string) {
		d := running(c, addr)
		_, _ = c.Write([]byte{77})
		expectByte(c)
		d.Close()
	},
	"terminated": func(c *net.TCPConn, addr string) {
		d := running(c, addr)
		_, _ = c.Write([]byte{byte(wire.ClientTerminate)})
		d.Close()
	},
	"results of 4 GiB":          func(c *net.TCPConn, addr string) { end(c, addr, []byte{255, 255, 255, 255}) },
	"results that are a bomb":   func(c *net.TCPConn, addr string) { end(c, addr, document(strings.Repeat("[", 1<<20))) },
	"results of another's test": func(c *net.TCPConn, addr string) { end(c, addr, document(`{"streams":[{"id":99}]}`)) },
	"reset at the results":      func(c *net.TCPConn, addr string) { end(c, addr, nil); reset(c) },
}

// end goes on to EXCHANGE_RESULTS and sends b.
func end(c *net.TCPConn, addr string, b []byte) {
	d := running(c, addr)
	if d == nil {
		return
	}
	defer d.Close()
	_, _ = c.Write([]byte{byte(wire.TestEnd)})
	expectByte(c)
	_, _ = c.Write(b)
	expectByte(c)
}

func attack(t *testing.T, addr string, s script) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	s(c.(*net.TCPConn), addr)
}

// A server with a hostile client behind it serves the next one as ever.
func TestHostileClients(t *testing.T) {
	addr, finished := serve(t, &Server{Timeout: 300 * time.Millisecond})
	for name, s := range hostile {
		t.Run(name, func(t *testing.T) {
			attack(t, addr, s)
			if _, err := run(t, &Client{Addr: addr}, stream.Test{Bytes: 1 << 20}); err != nil {
				t.Errorf("the next client: %v", err)
			}
		})
	}
	// What ran until the client broke off was counted.
	attack(t, addr, hostile["reset while running"])
	for {
		f := next(t, finished)
		if f.Err != nil && !strings.Contains(f.Err.Error(), "in ") {
			t.Errorf("the error names no state: %v", f.Err)
		}
		if f.Err != nil && f.Outcome.Group != nil && f.Outcome.Own.Streams[0].Bytes > 0 {
			return
		}
	}
}

// A server under hostile clients grows in nothing: goroutines, descriptors,
// memory.
func TestSoak(t *testing.T) {
	addr, finished := serve(t, &Server{Timeout: 200 * time.Millisecond, Limit: 64})
	go func() {
		for range finished {
		}
	}()
	var attacks []func()
	for _, s := range hostile {
		attacks = append(attacks, func() { attack(t, addr, s) })
	}
	testnet.Soak(t, 8, attacks, func() {
		if _, err := run(t, &Client{Addr: addr}, stream.Test{Bytes: 1 << 20}); err != nil {
			t.Errorf("a good client among the hostile: %v", err)
		}
	})
}

// fake is a server that follows the protocol as far as a script says.
func fake(t *testing.T, serve func(c *net.TCPConn, accept func() net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		var cookie wire.Cookie
		_, _ = io.ReadFull(c, cookie[:])
		serve(c.(*net.TCPConn), func() net.Conn {
			d, err := ln.Accept()
			if err != nil {
				return nil
			}
			_, _ = io.ReadFull(d, cookie[:])
			return d
		})
	}()
	return ln.Addr().String()
}

// swallow reads one document.
func swallow(c net.Conn) {
	var n [4]byte
	_, _ = io.ReadFull(c, n[:])
	_, _ = io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(n[:])))
}

func say(c net.Conn, states ...wire.State) {
	for _, s := range states {
		_, _ = c.Write([]byte{byte(s)})
	}
}

// toRunning plays a good server until TEST_RUNNING.
func toRunning(c *net.TCPConn, accept func() net.Conn) net.Conn {
	say(c, wire.ParamExchange)
	swallow(c)
	say(c, wire.CreateStreams)
	d := accept()
	say(c, wire.TestStart, wire.TestRunning)
	return d
}

// toResults goes on to the exchange of results.
func toResults(c *net.TCPConn, accept func() net.Conn) {
	d := toRunning(c, accept)
	defer d.Close()
	go func() { _, _ = io.Copy(io.Discard, d) }()
	expectByte(c)
	say(c, wire.ExchangeResults)
	swallow(c)
}

// Each hostile server gives a clear error that names the state, within the
// timeout; what had moved until then is kept.
func TestHostileServers(t *testing.T) {
	for _, c := range []struct {
		name    string
		serve   func(c *net.TCPConn, accept func() net.Conn)
		state   string
		want    error // nil: any
		partial bool
	}{
		{"busy", func(c *net.TCPConn, _ func() net.Conn) { say(c, wire.AccessDenied) }, "the greeting", ErrBusy, false},
		{"silent", func(c *net.TCPConn, _ func() net.Conn) { expectByte(c) }, "the greeting", os.ErrDeadlineExceeded, false},
		{"another protocol", func(c *net.TCPConn, _ func() net.Conn) { _, _ = c.Write([]byte("SSH-2.0-")) }, "the greeting", ErrProtocol, false},
		{"closes at once", func(*net.TCPConn, func() net.Conn) {}, "the greeting", io.EOF, false},
		{"refuses with a number", func(c *net.TCPConn, _ func() net.Conn) {
			say(c, wire.ParamExchange)
			swallow(c)
			_, _ = c.Write(wire.RemoteError{Code: wire.CodeMaxDuration}.Append([]byte{0xfe}))
		}, "PARAM_EXCHANGE", wire.RemoteError{Code: wire.CodeMaxDuration}, false},
		{"resets before the streams", func(c *net.TCPConn, _ func() net.Conn) { say(c, wire.ParamExchange); swallow(c); reset(c) }, "PARAM_EXCHANGE", nil, false},
		{"never starts", func(c *net.TCPConn, a func() net.Conn) {
			say(c, wire.ParamExchange)
			swallow(c)
			say(c, wire.CreateStreams)
			a()
			expectByte(c)
		}, "CREATE_STREAMS", os.ErrDeadlineExceeded, false},
		{"stops in the middle", func(c *net.TCPConn, a func() net.Conn) {
			d := toRunning(c, a)
			_, _ = io.CopyN(io.Discard, d, 1<<20)
			say(c, wire.ServerTerminate)
		}, "TEST_RUNNING", ErrTerminated, true},
		{"resets in the middle", func(c *net.TCPConn, a func() net.Conn) {
			d := toRunning(c, a)
			_, _ = io.CopyN(io.Discard, d, 1<<20)
			reset(c)
			reset(d.(*net.TCPConn))
		}, "TEST_", nil, true},
		{"says nothing at the end", func(c *net.TCPConn, a func() net.Conn) {
			d := toRunning(c, a)
			_, _ = io.Copy(io.Discard, d)
			expectByte(c)
		}, "TEST_END", os.ErrDeadlineExceeded, true},
		{"results of 4 GiB", func(c *net.TCPConn, a func() net.Conn) { toResults(c, a); _, _ = c.Write([]byte{255, 255, 255, 255}) }, "EXCHANGE_RESULTS", wire.ErrDocument, true},
		{"results of a bomb", func(c *net.TCPConn, a func() net.Conn) {
			toResults(c, a)
			_, _ = c.Write(document(strings.Repeat(`{"a":`, 100_000)))
		}, "EXCHANGE_RESULTS", wire.ErrDocument, true},
		{"results cut short", func(c *net.TCPConn, a func() net.Conn) { toResults(c, a); _, _ = c.Write([]byte{0, 0, 1, 0, '{'}) }, "EXCHANGE_RESULTS", io.ErrUnexpectedEOF, true},
		{"results of another's stream", func(c *net.TCPConn, a func() net.Conn) {
			toResults(c, a)
			_, _ = c.Write(document(`{"streams":[{"id":2}]}`))
		}, "EXCHANGE_RESULTS", ErrProtocol, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := &Client{Addr: fake(t, c.serve), Timeout: 300 * time.Millisecond}
			begin := time.Now()
			w := &stream.Client{Test: stream.Test{Duration: 400 * time.Millisecond, Message: 64 << 10}.Defaulted(), Dialect: d}
			err := w.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.state) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v in %s", err, c.want, c.state)
			}
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			if o := w.Outcome(); c.partial && (o.Group == nil || o.Own.Streams[0].Bytes == 0) {
				t.Error("the partial result is lost")
			}
		})
	}
}

// Streams go by the order of acceptance, whichever cookie comes first.
func TestStreamsGoByAcceptance(t *testing.T) {
	addr, _ := serve(t, &Server{})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	k := greet(c.(*net.TCPConn))
	_, _ = c.Write(document(`{"tcp":true,"time":1,"parallel":1,"bidirectional":true,"len":1000}`))
	expectByte(c)
	var data [2]net.Conn
	for i := range data {
		if data[i], err = net.Dial("tcp", addr); err != nil {
			t.Fatal(err)
		}
		defer data[i].Close()
	}
	for _, i := range []int{1, 0} {
		_, _ = data[i].Write(k[:])
		time.Sleep(50 * time.Millisecond)
	}
	if a, b := expectByte(c), expectByte(c); wire.State(a) != wire.TestStart || wire.State(b) != wire.TestRunning {
		t.Fatalf("states %d %d", a, b)
	}
	// The server sends on the second one alone.
	for i, want := range []bool{false, true} {
		_ = data[i].SetReadDeadline(time.Now().Add(300 * time.Millisecond))
		if n, _ := data[i].Read(make([]byte, 100)); (n > 0) != want {
			t.Errorf("stream %d: %d bytes", i+1, n)
		}
	}
}

// Several clients at once, beyond the limit the stock answer, byte for byte
// (esnet/iperf #980, #285, #327, #685, #1754).
func TestServesSeveralAtOnce(t *testing.T) {
	addr, finished := serve(t, &Server{Limit: 3})
	var wg sync.WaitGroup
	for _, test := range []stream.Test{
		{Duration: time.Second, Parallel: 2},
		{Duration: time.Second, Direction: stream.Both},
		{Duration: time.Second, Protocol: stream.UDP, Rate: 10e6, Parallel: 2},
	} {
		wg.Go(func() {
			w := &stream.Client{Test: test.Defaulted(), Dialect: &Client{Addr: addr}}
			if err := w.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	time.Sleep(500 * time.Millisecond)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	k := wire.NewCookie()
	_, _ = c.Write(k[:])
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, []byte{0xff}) {
		t.Errorf("the fourth client reads % x, %v", got, err)
	}
	wg.Wait()
	for range 3 {
		if f := next(t, finished); f.Err != nil || f.Outcome.Remote == nil {
			t.Errorf("%+v", f.Err)
		}
	}
}
