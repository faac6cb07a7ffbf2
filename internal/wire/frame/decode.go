package frame

import "encoding/binary"

// maxNesting bounds the headers that are peeled off one frame.
const maxNesting = 16

// Decode finds the innermost TCP, UDP or ICMP header of a frame that starts as
// link type link says (https://www.tcpdump.org/linktypes.html). n is the length
// on the wire, at least len(b). The commonest frame, Ethernet with IPv4 and TCP
// without IP options, takes a short way.
func Decode(link uint16, b []byte, n int, p *Packet) Fault {
	if link == LinkEthernet && len(b) >= 54 && b[12] == 0x08 && b[13] == 0x00 && b[14] == 0x45 &&
		b[23] == ProtoTCP && b[20]&0x3f == 0 && b[21] == 0 {
		return decodePlain(b, n, p)
	}
	*p = Packet{}
	d := decoder{p: p, wire: n, all: len(b)}
	return d.link(link, b)
}

// decodePlain decodes Ethernet, IPv4 without options or fragments, TCP. It
// writes each field that a reader of TCP looks at, and no other.
func decodePlain(b []byte, n int, p *Packet) Fault {
	_ = b[53]
	p.IPVersion, p.Proto, p.Depth, p.VLAN, p.EtherType = 4, ProtoTCP, 1, 0, 0x0800
	p.Fragment, p.DontFragment = false, b[20]&0x40 != 0
	p.ID, p.TTL = binary.BigEndian.Uint16(b[18:]), b[22]
	p.Src = AddrFrom4(binary.BigEndian.Uint32(b[26:]))
	p.Dst = AddrFrom4(binary.BigEndian.Uint32(b[30:]))
	return p.tcp(b[34:], ipLength(int(binary.BigEndian.Uint16(b[16:])), n-14)-20, 34)
}

// ipLength returns the bytes of an IPv4 packet. Total length 0 is a segment
// that the NIC will cut (TSO) or BIG TCP: the frame's length counts then.
func ipLength(total, frame int) int {
	if total == 0 {
		return frame
	}
	return total
}

// tcp decodes a TCP segment of n bytes, of which b is captured, that starts at
// offset at of the frame.
func (p *Packet) tcp(b []byte, n, at int) Fault {
	if len(b) < 20 {
		if len(b) >= 4 {
			p.SrcPort, p.DstPort = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
		}
		return Fault{Kind: CutShort}
	}
	p.SrcPort, p.DstPort = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	p.Seq, p.Ack = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	p.Flags, p.Window = b[13], binary.BigEndian.Uint16(b[14:])
	h := int(b[12]>>4) * 4
	if h < 20 || h > n {
		return Fault{Kind: Malformed}
	}
	p.Headers, p.Payload = at+h, n-h
	o := &p.Options
	// Timestamps alone, in the order nearly all stacks write them (RFC 7323
	// appendix A): no-operation twice, kind 8, length 10.
	if h == 32 && len(b) >= 32 && binary.BigEndian.Uint32(b[20:]) == 0x0101080a {
		o.Cut, o.HasTimestamp, o.SACKPermitted, o.HasScale, o.MSS, o.SACKs = false, true, false, false, 0, 0
		o.TSval, o.TSecr = binary.BigEndian.Uint32(b[24:]), binary.BigEndian.Uint32(b[28:])
	} else if *o = (Options{}); h > 20 {
		o.decode(b[20:min(h, len(b))], h > len(b))
	}
	p.Data = b[min(h, len(b)):min(n, len(b))]
	return Fault{}
}

// decode reads the options in b; cut says that more followed on the wire.
func (o *Options) decode(b []byte, cut bool) {
	for len(b) > 0 {
		kind := b[0]
		if kind == 0 {
			return
		}
		if kind == 1 {
			b = b[1:]
			continue
		}
		if len(b) < 2 || int(b[1]) > len(b) || b[1] < 2 {
			break
		}
		v := b[2:b[1]]
		switch {
		case kind == 2 && len(v) == 2: // RFC 9293 3.7.1
			o.MSS = binary.BigEndian.Uint16(v)
		case kind == 3 && len(v) == 1: // RFC 7323 2.2; 14 is the most
			o.HasScale, o.Scale = true, min(v[0], 14)
		case kind == 4 && len(v) == 0: // RFC 2018 2
			o.SACKPermitted = true
		case kind == 5: // RFC 2018 3
			for ; len(v) >= 8 && int(o.SACKs) < len(o.SACK); v = v[8:] {
				o.SACK[o.SACKs] = [2]uint32{binary.BigEndian.Uint32(v), binary.BigEndian.Uint32(v[4:])}
				o.SACKs++
			}
		case kind == 8 && len(v) == 8: // RFC 7323 3.2
			o.HasTimestamp = true
			o.TSval, o.TSecr = binary.BigEndian.Uint32(v), binary.BigEndian.Uint32(v[4:])
		}
		b = b[b[1]:]
	}
	o.Cut = cut
}
