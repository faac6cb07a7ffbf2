package ftp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// PortRange is a range of TCP ports, both ends in it. The zero value stands
// for any port the system picks.
type PortRange struct {
	First, Last uint16
}

// errPorts is returned when every port of the range is taken.
var errPorts = errors.New("every passive port is in use")

// portPool hands out listening ports. Its own are known to be taken without
// asking the system; others are found out by trying.
type portPool struct {
	PortRange
	network Network
	mu      sync.Mutex
	used    map[uint16]struct{}
	next    int // offset into the range where the search goes on
}

// listen opens a listener on addr that serves one connection of a peer in
// peers and gives its port back after wait at the latest.
func (p *portPool) listen(addr netip.Addr, peers []netip.Addr, wait time.Duration) (*passive, error) {
	l, err := p.pick(addr)
	if err != nil {
		return nil, err
	}
	l.peers = peers
	l.timer = time.AfterFunc(wait, l.free)
	return l, nil
}

func (p *portPool) pick(addr netip.Addr) (*passive, error) {
	if p.First == 0 {
		return p.listenOn(addr, 0)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used == nil {
		p.used = map[uint16]struct{}{}
	}
	n := int(p.Last-p.First) + 1
	for range n {
		port := p.First + uint16(p.next)
		p.next = (p.next + 1) % n
		if _, taken := p.used[port]; taken {
			continue
		}
		l, err := p.listenOn(addr, port)
		if err != nil {
			continue
		}
		p.used[port] = struct{}{}
		l.release = func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.used, port)
		}
		return l, nil
	}
	return nil, fmt.Errorf("ports %d-%d: %w", p.First, p.Last, errPorts)
}

// passive is the endpoint of PASV and EPSV.
type passive struct {
	l       net.Listener
	port    uint16
	peers   []netip.Addr
	timer   *time.Timer // frees a listener that nobody uses
	stray   func()      // counts a connection from elsewhere
	release func()      // gives the port back
	once    sync.Once
}

func (p *portPool) listenOn(addr netip.Addr, port uint16) (*passive, error) {
	l, err := p.network.Listen(context.Background(), netip.AddrPortFrom(addr, port))
	if err != nil {
		return nil, err
	}
	return &passive{l: l, port: addrOf(l.Addr()).Port()}, nil
}

// open accepts the client's connection. One from another address is closed and
// the wait goes on, so that a port scanner breaks no transfer.
func (p *passive) open(ctx context.Context) (net.Conn, error) {
	p.timer.Stop() // from here on ctx bounds the wait
	stop := context.AfterFunc(ctx, func() { p.l.Close() })
	defer stop()
	for {
		c, err := p.l.Accept()
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return nil, fmt.Errorf("accept: %w", err)
		}
		if slices.Contains(p.peers, addrOf(c.RemoteAddr()).Addr()) {
			return c, nil
		}
		p.stray()
		c.Close()
	}
}

func (p *passive) close() {
	p.timer.Stop()
	p.free()
}

// free closes the listener and gives its port back.
func (p *passive) free() {
	p.once.Do(func() {
		p.l.Close()
		if p.release != nil {
			p.release()
		}
	})
}
