//go:build linux

package netperf

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/testnet"
	wire "github.com/linerate/linerate/internal/wire/netperf"
	"github.com/linerate/linerate/internal/workload/stream"
)

// A server under hostile clients grows in nothing: goroutines, descriptors,
// memory.
func TestSoak(t *testing.T) {
	addr, finished := serve(t, &Server{Limit: 64})
	go func() {
		for range finished {
		}
	}()
	request := wire.Request{Protocol: wire.ProtoTCP, Direction: wire.ServerReceives, Length: 1}
	attack := func(f func(c *net.TCPConn)) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		f(c.(*net.TCPConn))
	}
	scripts := []func(c *net.TCPConn){
		func(*net.TCPConn) {},
		func(c *net.TCPConn) { _, _ = c.Write(make([]byte, 100)) },
		func(c *net.TCPConn) { _, _ = c.Write([]byte(strings.Repeat("GET / HTTP/1.1\r\n", 50))) },
		func(c *net.TCPConn) { _, _ = c.Write(request.Message()[:]); _ = c.SetLinger(0) },
		func(c *net.TCPConn) { _, _ = c.Write(request.Message()[:]); exchange(t, c, nil) }, // and never connects
		func(c *net.TCPConn) {
			bad := request
			bad.Direction = 9
			_, _ = c.Write(bad.Message()[:])
			_, _ = io.Copy(io.Discard, c)
		},
	}
	var attacks []func()
	for _, s := range scripts {
		attacks = append(attacks, func() { attack(s) })
	}
	testnet.Soak(t, 8, attacks, func() {
		c := &stream.Client{Test: stream.Test{Bytes: 1 << 20}.Defaulted(), Dialect: &Client{Addr: addr}}
		if err := c.Run(t.Context()); err != nil {
			t.Errorf("a good client among the hostile: %v", err)
		}
	})
}
