package frame

import "encoding/binary"

// Link types (https://www.tcpdump.org/linktypes.html).
const (
	LinkNull     = 0
	LinkEthernet = 1
	LinkFDDI     = 10
	LinkRawBSD   = 12 // LINKTYPE_RAW as some systems number it
	LinkRawBSD2  = 14
	LinkRaw      = 101
	LinkLoop     = 108
	LinkSLL      = 113
	LinkIPv4     = 228
	LinkIPv6     = 229
	LinkNFLOG    = 239
	LinkSLL2     = 276
)

// Ether types (IANA, IEEE).
const (
	typeIPv4  = 0x0800
	typeTEB   = 0x6558 // transparent Ethernet bridging, in GRE and GENEVE
	typeVLAN  = 0x8100
	typeIPv6  = 0x86dd
	typeMPLS  = 0x8847
	typeMPLSm = 0x8848
	typePPPoE = 0x8864
	typeSTag  = 0x88a8 // IEEE 802.1ad
	typeQinQ  = 0x9100 // before 802.1ad
	typeERS2  = 0x88be // ERSPAN I and II
	typeERS3  = 0x22eb // ERSPAN III
)

// decoder peels headers off a frame; each method takes what is left of it.
type decoder struct {
	p     *Packet
	wire  int // bytes of the frame on the wire
	all   int // bytes captured
	depth int
}

// at returns the offset in the frame of b, what is left of it.
func (d *decoder) at(b []byte) int { return d.all - len(b) }

// left returns the bytes that the wire carried from b on.
func (d *decoder) left(b []byte) int { return d.wire - d.at(b) }

func cut() Fault { return Fault{Kind: CutShort} }

func (d *decoder) link(link uint16, b []byte) Fault {
	switch link {
	case LinkEthernet:
		return d.ethernet(b)
	case LinkRaw, LinkRawBSD, LinkRawBSD2, LinkIPv4, LinkIPv6:
		return d.ip(b)
	case LinkNull, LinkLoop:
		// The address family, in the byte order of the capturing machine or
		// (LOOP) the network's, has another number in each system; the packet's
		// own version says it too.
		if len(b) < 4 {
			return cut()
		}
		return d.ip(b[4:])
	case LinkSLL:
		if len(b) < 16 {
			return cut()
		}
		return d.cooked(binary.BigEndian.Uint16(b[2:]), binary.BigEndian.Uint16(b[14:]), b[16:])
	case LinkSLL2:
		if len(b) < 20 {
			return cut()
		}
		return d.cooked(binary.BigEndian.Uint16(b[8:]), binary.BigEndian.Uint16(b), b[20:])
	case LinkNFLOG:
		return d.nflog(b)
	case LinkFDDI:
		if len(b) < 13 {
			return cut()
		}
		return d.llc(b[13:])
	}
	return Fault{UnknownLink, link}
}

// cooked decodes what follows a Linux cooked header. Its protocol field is an
// ether type only for some ARPHRD types (LINKTYPE_LINUX_SLL, second table).
func (d *decoder) cooked(arphrd, proto uint16, b []byte) Fault {
	switch arphrd {
	case 778, 769, 768: // GRE, IPv6 and IPv4 tunnels: the payload is bare IP
		if proto != typeIPv4 && proto != typeIPv6 {
			return d.ip(b)
		}
	case 824: // netlink
		return Fault{UnknownLink, arphrd}
	}
	if proto == 0x0004 { // 802.2 LLC
		return d.llc(b)
	}
	return d.etherType(proto, b)
}

func (d *decoder) ethernet(b []byte) Fault {
	if len(b) < HeaderBytes {
		return cut()
	}
	t := binary.BigEndian.Uint16(b[12:])
	if t < 1536 { // IEEE 802.3 3.2.6: a length
		return d.llc(b[14:])
	}
	return d.etherType(t, b[14:])
}

// llc decodes an IEEE 802.2 header with SNAP (RFC 1042).
func (d *decoder) llc(b []byte) Fault {
	if len(b) < 8 {
		return cut()
	}
	if b[0] != 0xaa || b[1] != 0xaa || b[2] != 3 {
		return Fault{UnknownEtherType, uint16(b[0])<<8 | uint16(b[1])}
	}
	return d.etherType(binary.BigEndian.Uint16(b[6:]), b[8:])
}

func (d *decoder) etherType(t uint16, b []byte) Fault {
	for range maxNesting {
		d.p.EtherType = t
		switch t {
		case typeIPv4, typeIPv6:
			return d.ip(b)
		case typeVLAN, typeSTag, typeQinQ:
			if len(b) < 4 {
				return cut()
			}
			if d.p.VLAN == 0 {
				d.p.VLAN = binary.BigEndian.Uint16(b) & 0xfff
			}
			t, b = binary.BigEndian.Uint16(b[2:]), b[4:]
			if t < 1536 {
				return d.llc(b)
			}
		case typeMPLS, typeMPLSm:
			return d.mpls(b)
		case typePPPoE:
			return d.pppoe(b)
		default:
			return Fault{UnknownEtherType, t}
		}
	}
	return Fault{Kind: TooDeep}
}

// mpls skips the label stack (RFC 3032 2.1) and guesses its payload from the
// first half byte: IP, or Ethernet behind a control word (RFC 4385, RFC 4448).
func (d *decoder) mpls(b []byte) Fault {
	for range maxNesting {
		if len(b) < 4 {
			return cut()
		}
		bottom := b[2]&1 != 0
		if b = b[4:]; !bottom {
			continue
		}
		switch {
		case len(b) == 0:
			return cut()
		case b[0]>>4 == 4 || b[0]>>4 == 6:
			return d.ip(b)
		case b[0]>>4 == 0 && len(b) >= 4:
			return d.ethernet(b[4:])
		}
		return d.ethernet(b)
	}
	return Fault{Kind: TooDeep}
}

// pppoe decodes a session's frame (RFC 2516 4). The length field isn't
// trusted: the record may be cut, and IP has its own.
func (d *decoder) pppoe(b []byte) Fault {
	if len(b) < 8 {
		return cut()
	}
	if b[0] != 0x11 || b[1] != 0 {
		return Fault{Kind: Malformed}
	}
	switch proto := binary.BigEndian.Uint16(b[6:]); proto {
	case 0x0021, 0x0057: // IPv4, IPv6 (RFC 1332, RFC 5072)
		return d.ip(b[8:])
	default:
		return Fault{UnknownProtocol, proto}
	}
}

// nflog finds the payload attribute of a netfilter log record
// (LINKTYPE_NFLOG): version and family, then type-length-value in host order.
func (d *decoder) nflog(b []byte) Fault {
	if len(b) < 4 {
		return cut()
	}
	for b = b[4:]; len(b) >= 4; {
		n, kind := int(binary.LittleEndian.Uint16(b)), binary.LittleEndian.Uint16(b[2:])
		if n > 1<<8 && n&0xff == 0 && n>>8 <= 64 { // written on a big-endian host
			n, kind = n>>8, kind>>8|kind<<8
		}
		if kind&0x7fff == 9 { // NFULA_PAYLOAD, the last one; its length may be cut
			return d.ip(b[4:])
		}
		if n < 4 {
			return Fault{Kind: Malformed}
		}
		b = b[min((n+3)&^3, len(b)):]
	}
	return cut()
}
