//go:build !linux

package iperf3

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

func shareAddress(_, _ string, _ syscall.RawConn) error { return nil }

func strays(*net.UDPConn) []netip.AddrPort { return nil }

func (*Server) inherit(name string) (func(), error) {
	return nil, fmt.Errorf("congestion control %q: %w", name, errors.ErrUnsupported)
}
