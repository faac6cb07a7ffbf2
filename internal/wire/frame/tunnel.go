package frame

import "encoding/binary"

// UDP ports of tunnels (RFC 7348, the first Linux VXLAN, RFC 8926).
const (
	portVXLAN      = 4789
	portVXLANLinux = 8472
	portGENEVE     = 6081
)

// udp decodes a datagram and looks into the tunnels that run in UDP.
func (d *decoder) udp(b []byte, n int) Fault {
	if len(b) < 8 {
		return cut()
	}
	p := d.p
	p.SrcPort, p.DstPort = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	if n < 8 {
		return Fault{Kind: Malformed}
	}
	p.Headers, p.Payload, p.Data = d.at(b)+8, n-8, b[8:]
	var inner Fault
	before := *p
	switch p.DstPort {
	case portVXLAN, portVXLANLinux:
		if len(b) < 16 || b[8]&0x08 == 0 { // RFC 7348 5: the I flag
			return Fault{}
		}
		inner = d.ethernet(b[16:])
	case portGENEVE: // RFC 8926 3.4
		if len(b) < 16 || b[8]>>6 != 0 {
			return Fault{}
		}
		h := 16 + 4*int(b[8]&0x3f)
		if len(b) < h {
			return cut()
		}
		if t := binary.BigEndian.Uint16(b[10:]); t == typeTEB {
			inner = d.ethernet(b[h:])
		} else {
			inner = d.etherType(t, b[h:])
		}
	default:
		return Fault{}
	}
	// What only happens to use the port is a datagram like any other.
	if inner.Kind != None && inner.Kind != CutShort && inner.Kind != LaterFragment {
		*p = before
		return Fault{}
	}
	return inner
}

// gre decodes GRE (RFC 2784, RFC 2890), PPTP's variant (RFC 2637) and ERSPAN.
func (d *decoder) gre(b []byte) Fault {
	if len(b) < 4 {
		return cut()
	}
	flags, proto := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	h := 4
	for _, bit := range []uint16{0x8000, 0x2000, 0x1000} { // checksum, key, sequence number
		if flags&bit != 0 {
			h += 4
		}
	}
	if flags&7 == 1 && flags&0x0080 != 0 { // PPTP: acknowledgement number
		h += 4
	}
	if flags&0x4000 != 0 { // routing, withdrawn by RFC 2784
		return Fault{UnknownProtocol, ProtoGRE}
	}
	if len(b) < h {
		return cut()
	}
	b = b[h:]
	switch proto {
	case typeTEB:
		return d.ethernet(b)
	case typeERS2: // draft-foschiano-erspan: type I has no sequence number and no header
		if flags&0x1000 == 0 {
			return d.ethernet(b)
		}
		if len(b) < 8 {
			return cut()
		}
		return d.ethernet(b[8:])
	case typeERS3:
		return d.erspan3(b)
	case 0x880b: // PPP (RFC 2637): address and control may be compressed away
		return d.ppp(b)
	}
	return d.etherType(proto, b)
}

// erspan3 skips the 12-byte header and the platform-specific 8 bytes that its
// O bit announces.
func (d *decoder) erspan3(b []byte) Fault {
	h := 12
	if len(b) < h {
		return cut()
	}
	if b[11]&1 != 0 {
		h += 8
	}
	if len(b) < h {
		return cut()
	}
	// Frame type 2 in the P, FT fields is a bare IP packet.
	if b[10]>>2&0x1f == 2 {
		return d.ip(b[h:])
	}
	return d.ethernet(b[h:])
}

func (d *decoder) ppp(b []byte) Fault {
	if len(b) >= 2 && b[0] == 0xff && b[1] == 0x03 {
		b = b[2:]
	}
	if len(b) >= 1 && b[0] == 0x21 { // compressed protocol field
		return d.ip(b[1:])
	}
	if len(b) < 2 {
		return cut()
	}
	switch proto := binary.BigEndian.Uint16(b); proto {
	case 0x0021, 0x0057:
		return d.ip(b[2:])
	default:
		return Fault{UnknownProtocol, proto}
	}
}
