package frame

import "encoding/binary"

// ip decodes an IPv4 or IPv6 packet, by its version.
func (d *decoder) ip(b []byte) Fault {
	if d.depth++; d.depth > maxNesting {
		return Fault{Kind: TooDeep}
	}
	if len(b) == 0 {
		return cut()
	}
	d.p.Depth = uint8(d.depth)
	switch b[0] >> 4 {
	case 4:
		return d.ipv4(b)
	case 6:
		return d.ipv6(b)
	}
	return Fault{Kind: Malformed}
}

func (d *decoder) ipv4(b []byte) Fault {
	if len(b) < 20 {
		return cut()
	}
	p := d.p
	h := int(b[0]&0xf) * 4
	if h < 20 {
		return Fault{Kind: Malformed}
	}
	n := ipLength(int(binary.BigEndian.Uint16(b[2:])), d.left(b))
	p.IPVersion, p.Proto, p.TTL = 4, b[9], b[8]
	p.ID = binary.BigEndian.Uint16(b[4:])
	p.Src, p.Dst = AddrFrom4(binary.BigEndian.Uint32(b[12:])), AddrFrom4(binary.BigEndian.Uint32(b[16:]))
	p.SrcPort, p.DstPort = 0, 0
	if n < h {
		return Fault{Kind: Malformed}
	}
	frag := binary.BigEndian.Uint16(b[6:])
	p.DontFragment = frag&0x4000 != 0
	if frag&0x1fff != 0 {
		return Fault{Kind: LaterFragment}
	}
	p.Fragment = frag&0x2000 != 0
	if len(b) < h {
		return cut()
	}
	return d.transport(b[9], d.trim(b, n)[h:], n-h)
}

// trim cuts Ethernet padding off a packet of n bytes, as at() counts from the
// end of the record.
func (d *decoder) trim(b []byte, n int) []byte {
	if n < len(b) {
		d.all -= len(b) - n
		d.wire = min(d.wire, d.all)
		return b[:n]
	}
	return b
}

func (d *decoder) ipv6(b []byte) Fault {
	if len(b) < 40 {
		return cut()
	}
	p := d.p
	p.IPVersion, p.TTL, p.ID = 6, b[7], 0
	p.Src, p.Dst = addr16([16]byte(b[8:24])), addr16([16]byte(b[24:40]))
	p.SrcPort, p.DstPort = 0, 0
	n := int(binary.BigEndian.Uint16(b[4:]))
	if n == 0 { // RFC 2675 3, or BIG TCP without the option
		n = d.left(b) - 40
	}
	next := b[6]
	b = d.trim(b, 40+n)[40:]
	// Extension headers (RFC 8200 4).
	for range maxNesting {
		var size int
		switch next {
		case 0, 43, 60, 135, 139, 140: // hop-by-hop, routing, destination, mobility, HIP, shim6
			if len(b) < 2 {
				return cut()
			}
			size = 8 + 8*int(b[1])
		case 44: // fragment
			if len(b) < 8 {
				return cut()
			}
			off := binary.BigEndian.Uint16(b[2:])
			if off&^7 != 0 {
				p.Proto = b[0]
				return Fault{Kind: LaterFragment}
			}
			p.Fragment = off&1 != 0
			size = 8
		case 51: // authentication (RFC 4302 2.2)
			if len(b) < 2 {
				return cut()
			}
			size = 8 + 4*int(b[1])
		default:
			p.Proto = next
			return d.transport(next, b, n)
		}
		if size > n {
			return Fault{Kind: Malformed}
		}
		if len(b) < size {
			return cut()
		}
		next, b, n = b[0], b[size:], n-size
	}
	return Fault{Kind: TooDeep}
}

// transport decodes an IP payload of n bytes.
func (d *decoder) transport(proto uint8, b []byte, n int) Fault {
	p := d.p
	switch proto {
	case ProtoTCP:
		return p.tcp(b, n, d.at(b))
	case ProtoUDP:
		return d.udp(b, n)
	case ProtoIPIP, ProtoIPv6:
		return d.ip(b)
	case ProtoGRE:
		return d.gre(b)
	case ProtoICMP, ProtoICMPv6:
		return d.icmp(proto, b, n)
	case 137: // MPLS in IP (RFC 4023)
		return d.mpls(b)
	}
	return Fault{UnknownProtocol, uint16(proto)}
}

// icmp keeps type, code and the MTU of RFC 1191 4 and RFC 8201 4; the packet
// that the message quotes is p.Data.
func (d *decoder) icmp(proto uint8, b []byte, n int) Fault {
	if len(b) < 8 {
		return cut()
	}
	p := d.p
	p.ICMPType, p.ICMPCode = b[0], b[1]
	switch {
	case proto == ProtoICMP && b[0] == 3 && b[1] == 4:
		p.ICMPMTU = int(binary.BigEndian.Uint16(b[6:]))
	case proto == ProtoICMPv6 && b[0] == 2:
		p.ICMPMTU = int(binary.BigEndian.Uint32(b[4:]) & 0x7fffffff)
	}
	p.Headers, p.Payload, p.Data = d.at(b)+8, max(n-8, 0), b[8:]
	return Fault{}
}
