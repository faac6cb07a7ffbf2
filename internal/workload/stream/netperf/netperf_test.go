//go:build linux

package netperf

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/testnet"
	wire "github.com/linerate/linerate/internal/wire/netperf"
	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/result"
)

// sideBySide is how many tests run at once: they wait for their time to pass
// more than for a processor.
const sideBySide = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", sideBySide); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// serve starts our server on loopback for the length of a test. Finished tests
// come over the channel.
func serve(t *testing.T, s *Server) (addr string, finished <-chan Finished) {
	t.Helper()
	return serveOn(t, testnet.Loopback4, s)
}

func serveOn(t *testing.T, host string, s *Server) (addr string, finished <-chan Finished) {
	t.Helper()
	done := make(chan Finished, 1000)
	s.Finished = func(f Finished) { done <- f }
	return testnet.ServeHere(t, host, s), done
}

// Environment variables with the paths of netperf and netserver, where PATH has
// none. netperf is not free software in Debian's sense, so no laboratory can be
// asked to have it: without it these tests say so, and golden messages stand in
// (wire/netperf).
const (
	netperfVariable   = "LINERATE_NETPERF"
	netserverVariable = "LINERATE_NETSERVER"
)

// original returns the path of netperf or netserver.
func original(t *testing.T, tool, variable string) string {
	t.Helper()
	if path, err := exec.LookPath(tool); err == nil {
		return path
	}
	return testnet.VariableTool(t, variable, tool+" (not in Debian main: non-free)")
}

// netserver starts the original server.
func netserver(t *testing.T, host string) string {
	t.Helper()
	port := testnet.FreePort(t, host)
	addr := net.JoinHostPort(host, port)
	testnet.RunHere(t, addr, "", original(t, "netserver", netserverVariable), "-D", "-L", host, "-p", port)
	return addr
}

// size is a transfer, and brief a time, short enough for a matrix of tests. The
// protocol counts whole seconds: brief is one where the server ends the test.
const (
	second = time.Second
	brief  = 300 * time.Millisecond
	size   = 8 << 20
)

// cases is what our client asks of servers.
var cases = map[string]stream.Test{
	"TCP_STREAM":            {Duration: brief},
	"TCP_STREAM bytes":      {Bytes: size},
	"TCP_STREAM x 3":        {Duration: brief, Parallel: 3},
	"TCP_STREAM no delay":   {Duration: brief, Message: 1000, Socket: stream.Socket{NoDelay: true}},
	"TCP_STREAM window":     {Bytes: size, Socket: stream.Socket{Window: 64 << 10}},
	"TCP_STREAM congestion": {Bytes: size, Socket: stream.Socket{Congestion: "reno"}},
	"TCP_STREAM tos":        {Bytes: size, Socket: stream.Socket{TOS: 32}},
	"TCP_STREAM set":        {Duration: brief, Message: 1000, Socket: stream.Socket{NoDelay: true, Window: 64 << 10, Congestion: "reno"}},
	"TCP_MAERTS":            {Duration: second, Direction: stream.Receive},
	"TCP_MAERTS bytes":      {Bytes: size, Direction: stream.Receive},
	"TCP_MAERTS x 3":        {Bytes: 3 * size, Parallel: 3, Direction: stream.Receive},
	"TCP_MAERTS no delay":   {Bytes: size, Message: 1024, Direction: stream.Receive, Socket: stream.Socket{NoDelay: true}},
	"TCP_MAERTS window":     {Bytes: size, Direction: stream.Receive, Socket: stream.Socket{Window: 64 << 10}},
	"TCP_MAERTS congestion": {Bytes: size, Direction: stream.Receive, Socket: stream.Socket{Congestion: "reno"}},
	"TCP_MAERTS tos":        {Bytes: size, Direction: stream.Receive, Socket: stream.Socket{TOS: 32}},
	"both":                  {Duration: second, Direction: stream.Both},
	"UDP_STREAM":            {Protocol: stream.UDP, Duration: brief, Rate: 50e6},
	"UDP receive":           {Protocol: stream.UDP, Duration: second, Direction: stream.Receive, Message: 1000},
	"TCP_RR":                {Duration: brief, Request: 1, Response: 1},
	"TCP_RR sizes":          {Duration: brief, Request: 128, Response: 8192, Parallel: 2},
	"TCP_RR no delay":       {Duration: brief, Request: 2000, Response: 2000, Socket: stream.Socket{NoDelay: true}},
	"TCP_RR count":          {Messages: 500, Request: 1, Response: 1},
	"TCP_CRR":               {Duration: brief, Request: 1, Response: 1, Connect: true},
	"UDP_RR":                {Protocol: stream.UDP, Duration: brief, Request: 100, Response: 200},
}

// hosts are the IP versions of the matrix.
var hosts = map[string]string{"IPv4": testnet.Loopback4, "IPv6": testnet.Loopback6}

func TestClient(t *testing.T) {
	t.Parallel()
	for version, host := range hosts {
		t.Run("linerate "+version, func(t *testing.T) {
			t.Parallel()
			addr, finished := serveOn(t, host, &Server{})
			matrix(t, addr, func(t *testing.T, o stream.Outcome) {
				for range o.Test.Parallel {
					select {
					case f := <-finished:
						if f.Err != nil {
							t.Errorf("our server: %v", f.Err)
						}
					case <-time.After(10 * time.Second):
						t.Error("our server finished no test")
					}
				}
			})
		})
		t.Run("netserver "+version, func(t *testing.T) {
			t.Parallel()
			matrix(t, netserver(t, host), func(*testing.T, stream.Outcome) {})
		})
	}
}

func matrix(t *testing.T, addr string, after func(*testing.T, stream.Outcome)) {
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			c := &stream.Client{Test: test.Defaulted(), Dialect: &Client{Addr: addr}}
			if err := c.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			after(t, c.Outcome())
			check(t, c.Outcome())
		})
	}
}

// check holds the two ends' figures against each other.
func check(t *testing.T, o stream.Outcome) {
	t.Helper()
	vs := o.Values()
	if g, ok := result.Get(vs, result.Goodput); !ok || g <= 0 {
		t.Errorf("goodput %v", g)
	}
	if o.Test.Transactions() {
		n, _ := result.Get(vs, result.Transactions)
		p50, ok := result.Get(vs, result.Latency, "quantile", "0.5")
		p99, _ := result.Get(vs, result.Latency, "quantile", "0.99")
		if n <= 0 || !ok || p50 <= 0 || p99 < p50 || p99 > 10 {
			t.Errorf("%v transactions, median %v s, 99 %% %v s", n, p50, p99)
		}
		if want := o.Test.Messages; want > 0 && n != float64(want) {
			t.Errorf("%v transactions, want %d", n, want)
		}
		return
	}
	for _, d := range []stream.Direction{stream.Transmit, stream.Receive} {
		_, _, from, to := o.Sides(d)
		if d == stream.Receive {
			// This end stops at its own timer, the server at its.
			from, to = to, from
		}
		if o.Test.Protocol == stream.TCP && d == stream.Transmit && from.Bytes != to.Bytes {
			t.Errorf("sent %d, received %d", from.Bytes, to.Bytes)
		}
		if to.Bytes > 0 && from.Bytes <= 0 {
			t.Errorf("%s: %d and %d bytes", d, from.Bytes, to.Bytes)
		}
	}
	if _, _, _, to := o.Sides(o.Test.Direction); o.Test.Bytes > 0 && to.Bytes != o.Test.Bytes {
		t.Errorf("received %d of %d", to.Bytes, o.Test.Bytes)
	}
}

// The original client against our server.
func TestServer(t *testing.T) {
	t.Parallel()
	for version, host := range hosts {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			tool := original(t, "netperf", netperfVariable)
			addr, finished := serveOn(t, host, &Server{})
			_, port, _ := net.SplitHostPort(addr)
			for _, args := range []string{
				"-t TCP_STREAM", "-t TCP_MAERTS", "-t TCP_RR", "-t TCP_CRR", "-t TCP_CC", "-t TCP_SENDFILE", "-t UDP_RR", "-t UDP_STREAM -- -R 1 -m 1024",
				"-t TCP_STREAM -c -C", "-t TCP_RR -c -C", "-t TCP_STREAM -T 0,0", "-t TCP_STREAM -- -m 64", "-t TCP_MAERTS -- -m ,64", "-t TCP_STREAM -- -D", "-t TCP_MAERTS -- -D",
				"-t TCP_STREAM -- -s 64K -S 64K", "-t TCP_MAERTS -- -s 64K -S 64K", "-t TCP_STREAM -- -K reno", "-t TCP_MAERTS -- -K reno", "-t TCP_STREAM -- -P ,0",
				"-t TCP_STREAM -- -m 64 -D -s 64K -S 64K -K reno", "-t omni -- -d rr -r 100,200", "-t omni -- -d send", "-t omni -- -d recv", "-t TCP_RR -l -500",
				"-t TCP_RR -- -r 128,8192", "-t UDP_RR -- -r 100,200",
			} {
				t.Run(args, func(t *testing.T) {
					t.Parallel()
					originalClient(t, tool, host, port, args)
				})
			}
			t.Cleanup(func() {
				for len(finished) > 0 {
					if f := <-finished; f.Err != nil {
						t.Errorf("our server: %v", f.Err)
					}
				}
			})
		})
	}
}

func originalClient(t *testing.T, tool, host, port, args string) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, append([]string{"-H", host, "-p", port, "-l", "1"}, strings.Fields(args)...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if strings.Contains(args, "TCP_CC") {
		return // a table of its own
	}
	runs, err := wire.ParseOutput(string(out))
	if err != nil || runs[0].Throughput <= 0 {
		t.Errorf("netperf shows %+v, %v: %s", runs, err, out)
	}
}

// Clients built without migrated tests send messages of their own.
func TestClassicClient(t *testing.T) {
	t.Parallel()
	addr, finished := serve(t, &Server{})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	word := func(m []byte, i int) uint32 { return binary.BigEndian.Uint32(m[8+4*i:]) }
	// TCP_STREAM for a second, and then TCP_RR on the same connection.
	m := make([]byte, wire.Size)
	binary.BigEndian.PutUint32(m, uint32(wire.TCPStream))
	binary.BigEndian.PutUint32(m[8+4*8:], 1)
	answer := exchange(t, c, m)
	d, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(word(answer, 6)))))
	if err != nil {
		t.Fatal(err)
	}
	const sent = 100_000
	_, _ = d.Write(make([]byte, sent))
	d.Close()
	results := exchange(t, c, nil)
	if got := binary.BigEndian.Uint64(results[8:]); got != 0x40f86a0000000000 { // 100,000 as a double
		t.Errorf("received %#x", got)
	}
	if f := <-finished; f.Err != nil || f.Results.BytesReceived != sent {
		t.Errorf("%+v", f)
	}
	clear(m)
	binary.BigEndian.PutUint32(m, uint32(wire.TCPRR))
	for i, v := range map[int]uint32{6: 3, 7: 5, 11: 1} {
		binary.BigEndian.PutUint32(m[8+4*i:], v)
	}
	answer = exchange(t, c, m)
	if d, err = net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(word(answer, 5))))); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 5)
	for range 10 {
		_, _ = d.Write(b[:3])
		if _, err := io.ReadFull(d, b); err != nil {
			t.Fatal(err)
		}
	}
	d.Close()
	if results = exchange(t, c, nil); word(results, 2) != 10 {
		t.Errorf("%d transactions, want 10", word(results, 2))
	}
}

// exchange sends a message, if any, and reads the next.
func exchange(t *testing.T, c net.Conn, m []byte) []byte {
	t.Helper()
	if _, err := c.Write(m); m != nil && err != nil {
		t.Fatal(err)
	}
	b := make([]byte, wire.Size)
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
	if e := binary.BigEndian.Uint32(b[4:]); e != 0 {
		t.Fatalf("errno %d", e)
	}
	return b
}

// A client that takes its time before the first byte (its -s) loses nothing
// (HewlettPackard/netperf #77), and the wait is no part of the test.
func TestLateStart(t *testing.T) {
	t.Parallel()
	addr, finished := serve(t, &Server{})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	q := wire.Request{Protocol: wire.ProtoTCP, Direction: wire.ServerReceives, Length: 1}
	answer := wire.Message(exchange(t, c, q.Message()[:]))
	m := wire.ParseResponse(&answer)
	d, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(m.Port))))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(5500 * time.Millisecond) // more than a second and the original's 4
	for range 10 {
		if _, err := d.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	d.Close()
	f := <-finished
	if f.Err != nil || f.Results.BytesReceived != 10_000 || f.Results.Elapsed > 2 || f.Results.Elapsed < 0.3 {
		t.Errorf("%+v", f)
	}
}

func TestPassphrase(t *testing.T) {
	t.Parallel()
	addr, _ := serve(t, &Server{Passphrase: "open sesame"})
	for phrase, ok := range map[string]bool{"open sesame": true, "sesame": false, "": false} {
		c := &stream.Client{Test: stream.Test{Bytes: 1 << 20}.Defaulted(), Dialect: &Client{Addr: addr, Passphrase: phrase}}
		if err := c.Run(t.Context()); (err == nil) != ok {
			t.Errorf("%q: %v", phrase, err)
		}
	}
}

// A netperf of 2.5 or older answers with 256 bytes.
func TestOldServer(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.CopyN(io.Discard, c, wire.Size)
		_, _ = c.Write(make([]byte, wire.OldSize))
		_, _ = io.Copy(io.Discard, c)
	}()
	_, err = (&Client{Addr: ln.Addr().String()}).Open(t.Context(), stream.Test{}.Defaulted())
	if !errors.Is(err, ErrOldPeer) {
		t.Errorf("%v, want %v", err, ErrOldPeer)
	}
}
