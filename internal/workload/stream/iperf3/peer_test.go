//go:build linux

package iperf3

import (
	"context"
	"errors"
	"flag"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/internal/workload/stream"
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

// next returns the next finished test.
func next(t *testing.T, finished <-chan Finished) Finished {
	t.Helper()
	select {
	case f := <-finished:
		return f
	case <-time.After(20 * time.Second):
		t.Fatal("the server finished no test")
		return Finished{}
	}
}

// currentVariable names the environment variable with the path of an iperf3 of
// 3.17 or newer, which tests then judge us by too, beside the one on PATH.
const currentVariable = "LINERATE_IPERF3"

// stocks are the builds of iperf3 that judge us.
var stocks = []stock{
	{"iperf3", func(t *testing.T) string { return testnet.NeedTool(t, "iperf3") }, false},
	{"current iperf3", func(t *testing.T) string {
		return testnet.VariableTool(t, currentVariable, "a current iperf3 (3.17 or newer)")
	}, true},
}

type stock struct {
	name    string
	tool    func(t *testing.T) string // skips where it is missing
	current bool
}

// serve starts iperf3 -s for the length of a test.
func (s stock) serve(t *testing.T, host string, args ...string) (addr string) {
	t.Helper()
	port := testnet.FreePort(t, host)
	argv := append([]string{s.tool(t), "-s", "-B", host, "-p", port, "--forceflush"}, args...)
	p := testnet.RunHere(t, "", "listening", argv...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%v: %s", argv, p.Output())
		}
	})
	return net.JoinHostPort(host, port)
}

// client runs iperf3 -c to its end and returns its JSON.
func (s stock) client(t *testing.T, addr string, args ...string) ([]byte, error) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, s.tool(t), append([]string{"-c", host, "-p", port, "-J"}, args...)...).Output()
}

// run does one test as client. A stock server is away for a moment between two
// tests: it closes its listener, with who waits there, or says that it is busy.
func run(t *testing.T, d *Client, test stream.Test) (stream.Outcome, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for try := 0; ; try++ {
		c := &stream.Client{Test: test.Defaulted(), Dialect: d, Peer: d.Addr}
		err := c.Run(ctx)
		away := errors.Is(err, ErrBusy) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) && c.Outcome().Group == nil
		if !away || try == 100 {
			return c.Outcome(), err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// moved returns the bytes that each end counted in a direction.
func moved(o stream.Outcome, d stream.Direction) (sent, got int64) {
	_, _, from, to := o.Sides(d)
	return from.Bytes, to.Bytes
}
