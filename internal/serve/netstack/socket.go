//go:build !386 && !arm && !mips && !mipsle

package netstack

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// Listen listens for TCP connections to an address of the stack; "" and "::"
// stand for all of them.
func (s *Stack) Listen(_ context.Context, network, addr string) (net.Listener, error) {
	full, protocol, err := s.resolve(addr)
	if err != nil {
		return nil, fmt.Errorf("netstack: listen %s %s: %w", network, addr, err)
	}
	l := &listener{stack: s, done: make(chan struct{})}
	ep, terr := s.net.NewEndpoint(tcp.ProtocolNumber, protocol, &l.queue)
	if terr != nil {
		return nil, fmt.Errorf("netstack: listen %s: %s", addr, terr)
	}
	const backlog = 128
	if terr = ep.Bind(full); terr == nil {
		terr = ep.Listen(backlog)
	}
	if terr != nil {
		ep.Close()
		return nil, fmt.Errorf("netstack: listen %s: %s", addr, terr)
	}
	l.ep = ep
	return l, nil
}

// listener accepts connections as long as there is memory for them.
type listener struct {
	stack *Stack
	ep    tcpip.Endpoint
	queue waiter.Queue
	once  sync.Once
	done  chan struct{}
}

// Accept returns the next connection. One that finds no memory is reset, and
// the error says what to do.
func (l *listener) Accept() (net.Conn, error) {
	entry, event := waiter.NewChannelEntry(waiter.ReadableEvents)
	l.queue.EventRegister(&entry)
	defer l.queue.EventUnregister(&entry)
	for {
		ep, q, err := l.ep.Accept(nil)
		if err == nil {
			c, err := l.stack.newConn(ep, q)
			if err != nil {
				return nil, fmt.Errorf("netstack: accept: %w", err)
			}
			return c, nil
		}
		if _, blocked := err.(*tcpip.ErrWouldBlock); !blocked {
			select {
			case <-l.done:
				return nil, net.ErrClosed
			default:
				return nil, opError("accept", plain(err))
			}
		}
		select {
		case <-event:
		case <-l.done:
			return nil, net.ErrClosed
		}
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.done)
		l.ep.Close()
	})
	return nil
}

func (l *listener) Addr() net.Addr {
	a, err := l.ep.GetLocalAddress()
	if err != nil {
		return &net.TCPAddr{}
	}
	return tcpAddr(a)
}

// DialContext connects to a TCP or UDP address through the stack.
func (s *Stack) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	full, protocol, err := s.resolve(addr)
	if err != nil {
		return nil, fmt.Errorf("netstack: dial %s %s: %w", network, addr, err)
	}
	if network[:3] == "udp" {
		c, err := gonet.DialUDP(s.net, nil, &full, protocol)
		if err != nil {
			return nil, fmt.Errorf("netstack: dial udp %s: %w", addr, err)
		}
		return c, nil
	}
	q := new(waiter.Queue)
	ep, terr := s.net.NewEndpoint(tcp.ProtocolNumber, protocol, q)
	if terr != nil {
		return nil, fmt.Errorf("netstack: dial %s: %s", addr, terr)
	}
	if err := connect(ctx, ep, q, full); err != nil {
		ep.Close()
		return nil, fmt.Errorf("netstack: dial %s: %w", addr, err)
	}
	c, err := s.newConn(ep, q)
	if err != nil {
		return nil, fmt.Errorf("netstack: dial %s: %w", addr, err)
	}
	return c, nil
}

func connect(ctx context.Context, ep tcpip.Endpoint, q *waiter.Queue, to tcpip.FullAddress) error {
	entry, event := waiter.NewChannelEntry(waiter.WritableEvents | waiter.EventErr | waiter.EventHUp)
	q.EventRegister(&entry)
	defer q.EventUnregister(&entry)
	err := ep.Connect(to)
	if _, started := err.(*tcpip.ErrConnectStarted); started {
		select {
		case <-event:
			err = ep.LastError()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return plain(err)
}

// ListenPacket returns a UDP socket on an address of the stack.
func (s *Stack) ListenPacket(_ context.Context, network, addr string) (net.PacketConn, error) {
	full, protocol, err := s.resolve(addr)
	if err == nil {
		var c *gonet.UDPConn
		if c, err = gonet.DialUDP(s.net, &full, nil, protocol); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("netstack: listen %s %s: %w", network, addr, err)
}

// resolve reads an address; the stack asks no name server.
func (s *Stack) resolve(addr string) (tcpip.FullAddress, tcpip.NetworkProtocolNumber, error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return tcpip.FullAddress{}, 0, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return tcpip.FullAddress{}, 0, fmt.Errorf("port %q: want a number", service)
	}
	full := tcpip.FullAddress{Port: uint16(port)}
	if host == "" {
		return full, ipv6.ProtocolNumber, nil // both families
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return full, 0, err
	}
	if a.IsUnspecified() {
		return full, protocolOf(a), nil
	}
	full.Addr = address(a.Unmap())
	return full, protocolOf(a.Unmap()), nil
}

func tcpAddr(a tcpip.FullAddress) *net.TCPAddr {
	return &net.TCPAddr{IP: net.IP(a.Addr.AsSlice()), Port: int(a.Port)}
}
