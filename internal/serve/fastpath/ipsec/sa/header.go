package sa

import (
	"encoding/binary"
	"net/netip"

	"github.com/linerate/linerate/internal/wire/frame"
)

// Protocol numbers (IANA) and sizes of headers.
const (
	protoESP      = 50
	protoAH       = 51
	protoNone     = 59
	protoHop      = 0
	protoRouting  = 43
	protoFragment = 44
	protoOptions  = 60

	ipv4Bytes = 20
	ipv6Bytes = 40
	udpBytes  = 8
	maxHeader = 512 // with extension headers; longer ones are malformed to us
)

// ip is what is read of an IP header.
type ip struct {
	version  int
	header   int // bytes, extension headers before the payload included
	length   int // bytes of the packet
	next     int // where the byte is that names the payload's protocol
	protocol uint8
	tos      uint8 // DSCP and ECN
	df       bool
	fragment bool
	label    uint32 // flow label
}

// parse reads the header of a packet that may be followed by other bytes.
// Extension headers that belong before ESP are part of the header (RFC 4303
// 3.1.1).
func parse(b []byte) (h ip, ok bool) {
	if len(b) < ipv4Bytes {
		return h, false
	}
	switch b[0] >> 4 {
	case 4:
		h = ip{version: 4, header: int(b[0]&15) * 4, length: int(binary.BigEndian.Uint16(b[2:])), next: 9, protocol: b[9], tos: b[1],
			df: b[6]&0x40 != 0, fragment: b[6]&0x3f != 0 || b[7] != 0}
		return h, h.header >= ipv4Bytes && h.length >= h.header && h.length <= len(b)
	case 6:
		if len(b) < ipv6Bytes {
			return h, false
		}
		first := binary.BigEndian.Uint32(b)
		h = ip{version: 6, header: ipv6Bytes, length: ipv6Bytes + int(binary.BigEndian.Uint16(b[4:])), next: 6, protocol: b[6], tos: uint8(first >> 20), label: first & 0xfffff}
		return h, h.length <= len(b) && h.extensions(b[:h.length])
	}
	return h, false
}

// extensions walks over the headers that stay before ESP or AH.
func (h *ip) extensions(b []byte) bool {
	for h.protocol == protoHop || h.protocol == protoRouting || h.protocol == protoOptions || h.protocol == protoFragment {
		if h.header+8 > len(b) {
			return false
		}
		size := 8 + 8*int(b[h.header+1])
		if h.protocol == protoFragment {
			size, h.fragment = 8, true
		}
		if h.header+size > min(len(b), maxHeader) {
			return false
		}
		h.next, h.protocol = h.header, b[h.header]
		h.header += size
	}
	return true
}

// setLength writes the length of a packet into its header, and the IPv4
// checksum.
func setLength(b []byte, h ip) {
	if h.version == 6 {
		binary.BigEndian.PutUint16(b[4:], uint16(len(b)-ipv6Bytes))
		return
	}
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	fixChecksum(b[:int(b[0]&15)*4])
}

// fixChecksum writes the checksum of an IPv4 header.
func fixChecksum(b []byte) {
	b[10], b[11] = 0, 0
	binary.BigEndian.PutUint16(b[10:], ^frame.Fold(frame.Sum(0, b)))
}

// outerBytes is the length of the outer IP header.
func (s *SA) outerBytes() int {
	if s.p.Target.Is4() {
		return ipv4Bytes
	}
	return ipv6Bytes
}

// outer writes the outer IP header of a tunnel into the first bytes of b, which
// is the whole packet (RFC 4301 5.1.2).
func (s *SA) outer(b []byte, inner ip, protocol uint8, seq uint64) {
	tos := inner.tos
	if s.p.DSCP != nil {
		tos = *s.p.DSCP<<2 | tos&3
	}
	if s.p.NoECN {
		tos &^= 3
	}
	if s.p.Target.Is4() {
		binary.BigEndian.PutUint32(b, 0x45<<24|uint32(tos)<<16|uint32(len(b)))
		flags := uint32(0)
		// IPv6 is not fragmented on its way: what carries it must not be either.
		if s.p.DF == SetDF || s.p.DF == CopyDF && (inner.df || inner.version == 6) {
			flags = 0x4000
		}
		binary.BigEndian.PutUint32(b[4:], uint32(uint16(seq))<<16|flags)
		binary.BigEndian.PutUint32(b[8:], uint32(s.p.HopLimit)<<24|uint32(protocol)<<16)
		put4(b[12:], s.p.Source)
		put4(b[16:], s.p.Target)
		fixChecksum(b[:ipv4Bytes])
		return
	}
	binary.BigEndian.PutUint32(b, 6<<28|uint32(tos)<<20|inner.label)
	binary.BigEndian.PutUint32(b[4:], uint32(len(b)-ipv6Bytes)<<16|uint32(protocol)<<8|uint32(s.p.HopLimit))
	put16(b[8:], s.p.Source)
	put16(b[24:], s.p.Target)
}

func put4(b []byte, a netip.Addr)  { v := a.As4(); copy(b, v[:]) }
func put16(b []byte, a netip.Addr) { v := a.As16(); copy(b, v[:]) }

// udp writes the header of RFC 3948 2.1 into b, which is the whole datagram.
// Its checksum is zero, which IPv6 does not allow: there it is computed.
func (s *SA) udp(b []byte) {
	binary.BigEndian.PutUint16(b, s.p.Encap.Source)
	binary.BigEndian.PutUint16(b[2:], s.p.Encap.Target)
	binary.BigEndian.PutUint32(b[4:], uint32(len(b))<<16)
	if s.p.Target.Is4() {
		return
	}
	from, to := s.p.Source.As16(), s.p.Target.As16()
	start := frame.Sum(frame.Sum(uint64(len(b))+frame.ProtoUDP, from[:]), to[:])
	c := ^frame.Fold(frame.Sum(start, b))
	if c == 0 {
		c = 0xffff
	}
	binary.BigEndian.PutUint16(b[6:], c)
}
