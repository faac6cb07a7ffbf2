package iperf3

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"

	wire "github.com/linerate/linerate/internal/wire/iperf3"
)

// udpPort takes hellos on the server's UDP port and gives each stream a
// connected socket on the same port, which the kernel prefers from then on.
type udpPort struct {
	conn *net.UDPConn
	port int

	mu      sync.Mutex
	waiting []*udpWait // tests that expect streams, the longest waiting first
}

// udpWait is a test that expects streams from a client's address.
type udpWait struct {
	client, local netip.Addr
	in            chan arrival
	left          int
}

func listenUDP(ctx context.Context, at *net.TCPAddr) (*udpPort, error) {
	lc := net.ListenConfig{Control: shareAddress}
	pc, err := lc.ListenPacket(ctx, "udp", at.String())
	if err != nil {
		return nil, err
	}
	return &udpPort{conn: pc.(*net.UDPConn), port: at.Port}, nil
}

func (u *udpPort) close() { u.conn.Close() }

// serve takes hellos until the socket is closed.
func (u *udpPort) serve() {
	b := make([]byte, 64<<10)
	for {
		_, from, err := u.conn.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		u.hello(netip.AddrPortFrom(from.Addr().Unmap(), from.Port()))
	}
}

// hello opens a stream for a new address; whatever the datagram holds, because
// releases differ in it.
func (u *udpPort) hello(from netip.AddrPort) {
	u.mu.Lock()
	defer u.mu.Unlock()
	i := slices.IndexFunc(u.waiting, func(w *udpWait) bool { return w.client == from.Addr() && w.left > 0 })
	if i < 0 {
		return
	}
	w := u.waiting[i]
	d := net.Dialer{Control: shareAddress, LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(w.local, uint16(u.port)))}
	conn, err := d.Dial("udp", from.String())
	if err != nil {
		return // the test times out and says so
	}
	w.left--
	w.in <- arrival{conn, int64(cap(w.in) - w.left)} // has room: left counts it
	if _, err := conn.Write(wire.Reply[:]); err != nil {
		return
	}
	// What came for others between bind and connect is in this socket's queue.
	for _, stray := range strays(conn.(*net.UDPConn)) {
		if stray != from {
			go u.hello(stray)
		}
	}
}

// enter makes hellos from the client of t go to in until leave is called.
func (u *udpPort) enter(t *test, in chan arrival) (leave func()) {
	w := &udpWait{client: address(t.ctl.RemoteAddr()), local: address(t.ctl.LocalAddr()), in: in, left: cap(in)}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting = append(u.waiting, w)
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.waiting = slices.DeleteFunc(u.waiting, func(o *udpWait) bool { return o == w })
	}
}

func address(a net.Addr) netip.Addr { return a.(*net.TCPAddr).AddrPort().Addr().Unmap() }
