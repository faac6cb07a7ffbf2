package ftp

import (
	"context"
	"net"
	"net/netip"

	"github.com/linerate/linerate/internal/serve/ftp/data"
)

// Network makes data connections. Listeners and connections have addresses
// that netip.ParseAddrPort reads.
type Network interface {
	Listen(ctx context.Context, local netip.AddrPort) (net.Listener, error)
	Dial(ctx context.Context, local netip.Addr, to netip.AddrPort) (net.Conn, error)
}

// hostNetwork is the kernel's TCP, with buffers set before the connection is
// made, so that they count for the window.
type hostNetwork struct{ knobs data.Knobs }

func (n hostNetwork) Listen(ctx context.Context, local netip.AddrPort) (net.Listener, error) {
	// Neither keep-alive, for Timeouts.Stall says when a transfer has ended, nor
	// Go's MPTCP, which no FTP client asks for: each costs a transfer system calls.
	l := net.ListenConfig{Control: n.knobs.Control, KeepAlive: -1}
	l.SetMultipathTCP(false)
	return l.Listen(ctx, "tcp", local.String())
}

func (n hostNetwork) Dial(ctx context.Context, local netip.Addr, to netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{Control: n.knobs.Control, LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(local, 0))}
	return d.DialContext(ctx, "tcp", to.String())
}
