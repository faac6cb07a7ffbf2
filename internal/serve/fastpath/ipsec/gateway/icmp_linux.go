package gateway

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pathMTU hears of paths that are narrower than thought: "fragmentation needed"
// (RFC 1191) and "packet too big" (RFC 8201) about packets of ours.
type pathMTU struct {
	six bool
	fd  int
}

// ICMP types and codes.
const (
	unreachable     = 3
	fragmentNeeded  = 4
	tooBig          = 2
	icmpBytes       = 8
	icmpFilter      = 1
	icmp6Filter     = 1
	protocolESP     = 50
	protocolAH      = 51
	protocolICMPv6  = 58
	protocolICMPv4  = 1
	solRaw          = 255
	ipv6FilterWords = 8
)

func openPathMTU(six bool) (*pathMTU, error) {
	family, protocol := unix.AF_INET, protocolICMPv4
	if six {
		family, protocol = unix.AF_INET6, protocolICMPv6
	}
	fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return nil, fmt.Errorf("ICMP socket (it needs CAP_NET_RAW): %w", err)
	}
	if six { // bits set are types not wanted
		var f [ipv6FilterWords]uint32
		for i := range f {
			f[i] = ^uint32(0)
		}
		f[tooBig>>5] &^= 1 << (tooBig & 31)
		_, _, e := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), protocolICMPv6, icmp6Filter, uintptr(unsafe.Pointer(&f)), unsafe.Sizeof(f), 0)
		if e != 0 {
			err = e
		}
	} else {
		all := ^(1 << unreachable)
		err = unix.SetsockoptInt(fd, solRaw, icmpFilter, all)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ICMP socket: %w", err), unix.Close(fd))
	}
	return &pathMTU{six, fd}, nil
}

func (p *pathMTU) close() error { return unix.Close(p.fd) }

// listen tells of narrower paths until ctx ends: the SPI and the destination
// of the packet that was too long, and the MTU.
func (p *pathMTU) listen(ctx context.Context, narrow func(spi uint32, to netip.Addr, mtu int)) error {
	b := make([]byte, 2048)
	for ctx.Err() == nil {
		if ready, err := wait(p.fd, unix.POLLIN); err != nil {
			return fmt.Errorf("ipsec: ICMP: %w", err)
		} else if !ready {
			continue
		}
		n, _, err := unix.Recvfrom(p.fd, b, unix.MSG_DONTWAIT)
		if err != nil {
			continue // passing errors; wait reports others
		}
		if spi, to, mtu, ok := parseTooBig(b[:n], p.six); ok {
			narrow(spi, to, mtu)
		}
	}
	return nil
}

// parseTooBig reads a message as a raw socket gives it: IPv4 with its header,
// IPv6 without.
func parseTooBig(b []byte, six bool) (spi uint32, to netip.Addr, mtu int, ok bool) {
	if !six {
		if len(b) < ipv4Bytes || len(b) < int(b[0]&15)*4+icmpBytes+ipv4Bytes {
			return 0, to, 0, false
		}
		b = b[int(b[0]&15)*4:]
		if b[0] != unreachable || b[1] != fragmentNeeded {
			return 0, to, 0, false
		}
		mtu = int(binary.BigEndian.Uint16(b[6:]))
	} else {
		if len(b) < icmpBytes+ipv6Bytes || b[0] != tooBig {
			return 0, to, 0, false
		}
		mtu = int(min(binary.BigEndian.Uint32(b[4:]), maxPacket))
	}
	b = b[icmpBytes:]
	protocol, header := b[9], int(b[0]&15)*4
	if six {
		protocol, header = b[6], ipv6Bytes
		to = netip.AddrFrom16([16]byte(b[24:40]))
	} else {
		to = netip.AddrFrom4([4]byte(b[16:20]))
	}
	switch protocol {
	case unix.IPPROTO_UDP:
		header += udpBytes
	case protocolAH:
		header += 4
	case protocolESP:
	default:
		return 0, to, 0, false
	}
	if len(b) < header+4 {
		return 0, to, 0, false
	}
	return binary.BigEndian.Uint32(b[header:]), to, mtu, true
}
