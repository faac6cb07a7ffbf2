package stream

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

// Socket is the options of a data socket. They are set before connect and
// before listen: congestion control set on a connected socket leaves the
// pacing that the default algorithm (bbr) has switched on, and buffers set
// then no longer change the window scale (RFC 7323 2.2).
type Socket struct {
	Window     int    // SO_SNDBUF and SO_RCVBUF, bytes; the kernel doubles it
	SendBuffer int    // SO_SNDBUF alone, before Window
	RecvBuffer int    // SO_RCVBUF alone, before Window
	MSS        int    // TCP_MAXSEG
	NoDelay    bool   // TCP_NODELAY: Nagle's algorithm off (RFC 9293 3.7.4)
	Congestion string // TCP_CONGESTION
	TOS        int    // IP_TOS or IPV6_TCLASS; the DSCP times 4 (RFC 2474 3)
	Device     string // SO_BINDTODEVICE
	Pacing     uint64 // SO_MAX_PACING_RATE, bit/s
	Multipath  bool   // MPTCP (RFC 8684)
	DontFrag   bool   // IP_MTU_DISCOVER: the DF bit of datagrams
	Local      netip.Addr
	LocalPort  int
	Network    string // "4" or "6" to insist on an IP version
}

func (s Socket) params() map[string]string {
	p := map[string]string{"nodelay": strconv.FormatBool(s.NoDelay)}
	for name, v := range map[string]int{"window": s.Window, "send_buffer": s.SendBuffer, "receive_buffer": s.RecvBuffer,
		"mss": s.MSS, "tos": s.TOS, "pacing_bits_per_second": int(s.Pacing)} {
		if v != 0 {
			p[name] = strconv.Itoa(v)
		}
	}
	for name, v := range map[string]string{"congestion": s.Congestion, "device": s.Device, "ip": s.Network} {
		if v != "" {
			p[name] = v
		}
	}
	if s.Local.IsValid() {
		p["local"] = s.Local.String()
	}
	if s.Multipath {
		p["mptcp"] = "true"
	}
	return p
}

// connectTimeout bounds how long a peer may take to answer a connect.
const connectTimeout = 10 * time.Second

// Dial connects a data socket to addr ("host:port").
func (s Socket) Dial(ctx context.Context, p Protocol, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: connectTimeout, KeepAlive: -1, Control: s.control}
	d.SetMultipathTCP(s.Multipath)
	if s.Local.IsValid() || s.LocalPort > 0 {
		ap := netip.AddrPortFrom(s.Local, uint16(s.LocalPort))
		d.LocalAddr = net.TCPAddrFromAddrPort(ap)
		if p == UDP {
			d.LocalAddr = net.UDPAddrFromAddrPort(ap)
		}
	}
	c, err := d.DialContext(ctx, string(p)+s.Network, addr)
	if err != nil {
		return nil, fmt.Errorf("connect data socket: %w", err)
	}
	if t, ok := c.(*net.TCPConn); ok {
		// Package net switches Nagle's algorithm off on every connection.
		if err := t.SetNoDelay(s.NoDelay); err != nil {
			c.Close()
			return nil, fmt.Errorf("set TCP_NODELAY: %w", err)
		}
	}
	return c, nil
}

// Listen opens a listening socket whose connections inherit the options.
func (s Socket) Listen(ctx context.Context, addr string) (net.Listener, error) {
	lc := net.ListenConfig{KeepAlive: -1, Control: s.control}
	lc.SetMultipathTCP(s.Multipath)
	return lc.Listen(ctx, "tcp"+s.Network, addr)
}

// ListenUDP opens an unconnected datagram socket with the options.
func (s Socket) ListenUDP(ctx context.Context, addr string) (*net.UDPConn, error) {
	lc := net.ListenConfig{Control: s.control}
	pc, err := lc.ListenPacket(ctx, "udp"+s.Network, addr)
	if err != nil {
		return nil, err
	}
	return pc.(*net.UDPConn), nil
}

// Accepted sets the options on a connection that a listener without them
// accepted, as far as they still take effect.
func (s Socket) Accepted(c net.Conn) error {
	if t, ok := c.(*net.TCPConn); ok {
		if err := t.SetNoDelay(s.NoDelay); err != nil {
			return fmt.Errorf("set TCP_NODELAY: %w", err)
		}
	}
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return err
	}
	network := c.LocalAddr().Network()
	if ap, err := netip.ParseAddrPort(c.LocalAddr().String()); err == nil && ap.Addr().Unmap().Is6() {
		network += "6"
	}
	return s.control(network, "", rc)
}

// control sets the options on a new socket.
func (s Socket) control(network, _ string, rc syscall.RawConn) error {
	var err error
	if cerr := rc.Control(func(fd uintptr) { err = s.apply(int(fd), network) }); cerr != nil {
		return cerr
	}
	return err
}
