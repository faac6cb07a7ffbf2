package testnet

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"
)

// This file is for peers in the test's own namespace, on loopback: what needs
// neither root nor a link.

// The loopback addresses of both IP versions.
const (
	Loopback4 = "127.0.0.1"
	Loopback6 = "::1"
)

// Server is a server of ours: Listen opens its port, Serve answers until its
// context ends.
type Server interface {
	Listen(ctx context.Context, addr string) (net.Addr, error)
	Serve(ctx context.Context) error
}

// ServeHere runs s at a free port of host for the length of a test and returns
// its address.
func ServeHere(t TB, host string, s Server) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	a, err := s.Listen(ctx, net.JoinHostPort(host, "0"))
	if err != nil {
		stop()
		t.Fatalf("%v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Fatalf("serve: %v", err)
		}
	})
	return a.String()
}

// FreePort returns a port of host that was free for TCP and UDP a moment ago.
func FreePort(t TB, host string) string {
	t.Helper()
	for range 100 {
		ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatalf("%v", err)
		}
		addr := ln.Addr().String()
		pc, err := net.ListenPacket("udp", addr)
		ln.Close()
		if err != nil {
			continue
		}
		pc.Close()
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			t.Fatalf("%v", err)
		}
		return port
	}
	t.Fatalf("no port of %s is free for both TCP and UDP", host)
	return ""
}

// RunHere starts a foreign server in the test's own namespace, for the length
// of the test, and waits until it is ready: until it writes a line with the
// text ready or, without one, until addr accepts TCP connections.
func RunHere(t TB, addr, ready string, argv ...string) *Process {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	p := newProcess(exec.CommandContext(ctx, argv[0], argv[1:]...), cancel)
	if err := p.cmd.Start(); err != nil {
		cancel()
		t.Fatalf("testnet: start %s: %v", argv[0], err)
	}
	go p.reap()
	t.Cleanup(p.Stop)
	wait, done := context.WithTimeout(ctx, 10*time.Second)
	defer done()
	var err error
	if ready != "" {
		_, err = p.Await(wait, ready)
	} else {
		err = awaitPort(wait, addr)
	}
	if err != nil {
		t.Fatalf("testnet: %s is not ready: %v: %s", argv[0], err, p.Output())
	}
	return p
}

// awaitPort waits until a connection to addr is accepted.
func awaitPort(ctx context.Context, addr string) error {
	for {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// VariableTool returns the program that an environment variable names, for a
// peer that no package has. Without it the test is skipped and says what was
// not tested: no laboratory is promised to have it.
func VariableTool(t TB, variable, what string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Skipf("not tested: %s; set %s to its path", what, variable)
	}
	path, err := exec.LookPath(path)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return path
}

// RunTool runs a program to its end in the test's own namespace and returns
// what it wrote to its standard output.
func RunTool(ctx context.Context, argv ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	if err != nil {
		return out, fmt.Errorf("%v: %w", argv, err)
	}
	return out, nil
}
