package tcpinfo

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/host/netlink"
	"github.com/linerate/linerate/result"
)

// maxFlows bounds how many connections Meter reports, so that a busy server
// does not fill the Result; those that moved most stay.
const maxFlows = 64

// Meter reads the TCP connections of a host's network namespace, whoever owns
// them. A connection that ends between two readings takes its last counts
// with it: use Sockets for one's own.
type Meter struct {
	Host host.Host
	Port uint16 // at either end; 0 means every connection
}

// Name returns "tcpinfo".
func (Meter) Name() string { return "tcpinfo" }

// Read returns the group of TCP metrics by flow, "local-remote".
func (m Meter) Read(context.Context) ([]result.Value, error) {
	dump, err := fs.ReadFile(m.Host, "sockdiag/tcp")
	if err != nil {
		return nil, fmt.Errorf("tcpinfo: %w", err)
	}
	socks, err := parseDump(dump, m.Port)
	if err != nil {
		return nil, fmt.Errorf("tcpinfo: sockdiag/tcp: %w", err)
	}
	slices.SortFunc(socks, func(a, b socket) int { return cmp.Compare(b.moved(), a.moved()) })
	var vs []result.Value
	for _, s := range socks[:min(len(socks), maxFlows)] {
		vs = append(vs, s.values()...)
	}
	return vs, nil
}

// socket is one answer to an inet_diag request (sock_diag(7)).
type socket struct {
	order         binary.ByteOrder
	local, remote netip.AddrPort
	info          []byte // struct tcp_info
	memory        []byte // nine 32-bit numbers, SK_MEMINFO_*
	algorithm     string
}

// parseDump reads the sockets of a dump that use the port (0: all).
func parseDump(dump []byte, port uint16) ([]socket, error) {
	order := netlink.Order(dump)
	msgs, err := netlink.Messages(dump, order)
	if err != nil {
		return nil, err
	}
	var socks []socket
	for _, m := range msgs {
		s, err := parseSocket(m.Data, order)
		if err != nil {
			return nil, err
		}
		if s.info != nil && (port == 0 || s.local.Port() == port || s.remote.Port() == port) {
			socks = append(socks, s)
		}
	}
	return socks, nil
}

// Offsets in struct inet_diag_msg and attributes after it.
const (
	diagLen       = 72
	diagPorts     = 4 // two, in network byte order
	diagAddresses = 8 // two of 16 bytes
	attrInfo      = 2 // INET_DIAG_INFO
	attrCong      = 4 // INET_DIAG_CONG
	attrMemory    = 7 // INET_DIAG_SKMEMINFO
	familyIPv4    = 2
)

func parseSocket(b []byte, order binary.ByteOrder) (socket, error) {
	if len(b) < diagLen {
		return socket{}, fmt.Errorf("%w: a socket of %d bytes, want %d", netlink.ErrMalformed, len(b), diagLen)
	}
	addrPort := func(i int) netip.AddrPort {
		raw := b[diagAddresses+16*i : diagAddresses+16*(i+1)]
		if b[0] == familyIPv4 {
			raw = raw[:4]
		}
		a, _ := netip.AddrFromSlice(raw)
		return netip.AddrPortFrom(a.Unmap(), binary.BigEndian.Uint16(b[diagPorts+2*i:]))
	}
	s := socket{order: order, local: addrPort(0), remote: addrPort(1)}
	for typ, v := range netlink.Attributes(b[diagLen:], order) {
		switch typ {
		case attrInfo:
			s.info = v
		case attrCong:
			s.algorithm = netlink.String(v)
		case attrMemory:
			s.memory = v
		}
	}
	return s, nil
}

// moved is the payload that went over the connection, either way.
func (s socket) moved() uint64 {
	if len(s.info) < 136 {
		return 0
	}
	return s.order.Uint64(s.info[120:]) + s.order.Uint64(s.info[128:])
}

func (s socket) values() []result.Value {
	kv := []string{"flow", s.local.String() + "-" + s.remote.String()}
	vs := append(decode(s.info, s.order, kv...), decodeCwnd(s.info, s.order, s.algorithm, kv...)...)
	for _, f := range []struct {
		metric result.Metric
		index  int
	}{{result.TCPReceiveBuffer, 1}, {result.TCPSendBuffer, 3}, {result.TCPSocketDrops, 8}} {
		if at := 4 * f.index; len(s.memory) >= at+4 {
			vs = append(vs, f.metric.Of(float64(s.order.Uint32(s.memory[at:])), kv...))
		}
	}
	return vs
}
