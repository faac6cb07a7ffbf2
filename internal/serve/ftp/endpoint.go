package ftp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	wire "github.com/linerate/linerate/internal/wire/ftp"
)

// endpoint is where the next data connection comes from: a listener (PASV,
// EPSV) or the client's address (PORT, EPRT). It serves for one transfer.
type endpoint interface {
	open(ctx context.Context) (net.Conn, error)
	close()
}

// errNoEndpoint is a transfer without PASV, EPSV, PORT or EPRT before it. The
// default port of RFC 959 3.2 is of no use behind NAT and firewalls, and no
// client of today relies on it.
var errNoEndpoint = errors.New("use PASV, EPSV, PORT or EPRT first")

// replyEPSVAll is the refusal of RFC 2428 4.
var replyEPSVAll = wire.NewReply(503, "EPSV ALL was sent: only EPSV from here on")

func (x *session) closeEndpoint() {
	if x.endpoint != nil {
		x.endpoint.close()
		x.endpoint = nil
	}
}

// openData makes the data connection; whatever comes of it, the endpoint is
// used up.
func (x *session) openData(ctx context.Context) (net.Conn, error) {
	e := x.endpoint
	x.endpoint = nil
	if e == nil {
		return nil, errNoEndpoint
	}
	defer e.close()
	ctx, cancel := context.WithTimeout(ctx, x.srv.cfg.Timeouts.Connect)
	defer cancel()
	return e.open(ctx)
}

func (x *session) cmdPasv(string) wire.Reply {
	switch {
	case x.epsvAll:
		return replyEPSVAll
	case !x.local.Addr().Is4():
		return wire.NewReply(522, "PASV is for IPv4 and this connection is not, use EPSV") // RFC 2428 3
	}
	p, reply := x.listen()
	if p == nil {
		return reply
	}
	addr := x.local.Addr()
	if x.srv.cfg.Advertise.IsValid() {
		addr = x.srv.cfg.Advertise
	}
	return wire.NewReply(227, "Entering Passive Mode (%s).", wire.FormatPort(netip.AddrPortFrom(addr, p.port)))
}

func (x *session) cmdEpsv(arg string) wire.Reply {
	own := "1"
	if x.local.Addr().Is6() {
		own = "2"
	}
	switch arg = strings.ToUpper(strings.TrimSpace(arg)); arg {
	case "ALL":
		x.epsvAll = true
		return wire.NewReply(200, "Only EPSV from here on")
	case "", own:
	default:
		return wire.NewReply(522, "Network protocol not supported, use (%s)", own) // RFC 2428 3
	}
	p, reply := x.listen()
	if p == nil {
		return reply
	}
	return wire.NewReply(229, "%s", wire.FormatEPSV(p.port))
}

// listen opens a listener for the next data connection.
func (x *session) listen() (*passive, wire.Reply) {
	x.closeEndpoint()
	p, err := x.srv.ports.listen(x.local.Addr(), x.allowed(), x.srv.cfg.Timeouts.Connect)
	if err != nil {
		x.srv.log.Warn("passive", "id", x.id, "err", err)
		return nil, wire.NewReply(425, "No port is free, try again later")
	}
	p.stray = func() { x.srv.counters.refused(refusedStray) }
	x.endpoint = p
	return p, wire.Reply{}
}

// allowed are the addresses that data connections may have: the client's and,
// where a proxy sits between, the proxy's.
func (x *session) allowed() []netip.Addr {
	return []netip.Addr{x.peer, addrOf(rawConn(x.tcp).RemoteAddr()).Addr()}
}

func (x *session) cmdPort(arg string) wire.Reply {
	a, err := wire.ParsePort(arg)
	return x.active(a, err)
}

func (x *session) cmdEprt(arg string) wire.Reply {
	a, err := wire.ParseEPRT(arg)
	return x.active(a, err)
}

// active notes the client's address for the next data connection. Any other
// address would make us attack a third party (RFC 2577 3).
func (x *session) active(a netip.AddrPort, err error) wire.Reply {
	a = netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
	switch {
	case x.epsvAll:
		return replyEPSVAll
	case errors.Is(err, wire.ErrProtocol):
		return wire.NewReply(522, "Network protocol not supported, use (1,2)")
	case err != nil:
		return wire.NewReply(501, "That is no address")
	case x.srv.cfg.NoActive:
		return wire.NewReply(502, "Active mode is off, use EPSV or PASV")
	case a.Addr() != x.peer:
		return wire.NewReply(504, "Data goes to your own address only")
	case a.Port() < 1024:
		return wire.NewReply(504, "Ports below 1024 are not served")
	}
	x.closeEndpoint()
	x.endpoint = active{x.srv.cfg.Network, x.local.Addr(), a}
	return wire.NewReply(200, "Data goes to %s", a)
}

// active is the endpoint of PORT and EPRT.
type active struct {
	network Network
	local   netip.Addr
	to      netip.AddrPort
}

func (a active) open(ctx context.Context) (net.Conn, error) {
	c, err := a.network.Dial(ctx, a.local, a.to)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return c, nil
}

func (active) close() {}
