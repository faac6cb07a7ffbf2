//go:build linux

package iperf3

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/internal/workload/stream"
)

// serve starts our server on loopback for the length of a test. Finished tests
// come over the channel.
func serve(t *testing.T, s *Server) (addr string, finished <-chan Finished) {
	t.Helper()
	done := make(chan Finished, 1000)
	s.Finished = func(f Finished) { done <- f }
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	a, err := s.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return a.String(), done
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

// freePort returns a port that was free for TCP and UDP a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := ln.Addr().(*net.TCPAddr).Port
		pc, err := net.ListenPacket("udp", ln.Addr().String())
		ln.Close()
		if err == nil {
			pc.Close()
			return port
		}
	}
	t.Fatal("no port is free for both")
	return 0
}

// stockServer starts iperf3 -s on loopback for the length of a test.
func stockServer(t *testing.T, args ...string) string {
	t.Helper()
	tool := testnet.NeedTool(t, "iperf3")
	port := freePort(t)
	cmd := exec.Command(tool, append([]string{"-s", "-B", "127.0.0.1", "-p", strconv.Itoa(port), "--forceflush"}, args...)...)
	var out lockedBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("iperf3 -s, %v: %s", cmd.ProcessState, out.String())
		}
	})
	for range 100 {
		if strings.Contains(out.String(), "listening") {
			return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("iperf3 -s does not listen: %s", out.String())
	return ""
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// run does one test as client. A stock server is away for a moment between two
// tests: it closes its listener, or says that it is busy.
func run(t *testing.T, d *Client, test stream.Test) (stream.Outcome, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for try := 0; ; try++ {
		c := &stream.Client{Test: test.Defaulted(), Dialect: d, Peer: d.Addr}
		err := c.Run(ctx)
		if away := errors.Is(err, ErrBusy) || errors.Is(err, syscall.ECONNREFUSED); !away || try == 100 {
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
