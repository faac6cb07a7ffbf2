package sa

import (
	"encoding/binary"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/transform"
	"github.com/linerate/linerate/internal/wire/frame"
)

const ahFixed = 12 // next header, length, reserved, SPI, sequence number

// ahBytes is the length of the AH header, a multiple of 4 bytes with IPv4 and
// of 8 with IPv6 (RFC 4302 2.2). Linux wants 8 with IPv4 too, unless told
// otherwise (ip xfrm state ... flag align4).
func (s *SA) ahBytes() int {
	align := 4
	if s.p.Target.Is6() || s.p.Align8 {
		align = 8
	}
	return (ahFixed + s.mac.Size() + align - 1) / align * align
}

func (s *SA) sealAH(w *Scratch, b []byte, at, end int, h ip, seq transform.Sequence) (from, to int, why Reason) {
	size := s.ahBytes()
	payload, next := at, uint8(frame.ProtoIPIP)
	if h.version == 6 {
		next = frame.ProtoIPv6
	}
	if s.p.Mode == Transport {
		payload, next = at+h.header, h.protocol
		from = at - size
		copy(b[from:], b[at:at+h.header])
		b[from+h.next] = protoAH
		setLength(b[from:end], h)
	} else {
		from = at - size - s.outerBytes()
		s.outer(b[from:end], h, protoAH, seq.Number)
	}
	ah := b[payload-size : payload]
	clear(ah)
	ah[0], ah[1] = next, uint8(size/4-2)
	binary.BigEndian.PutUint32(ah[4:], s.p.SPI)
	binary.BigEndian.PutUint32(ah[8:], uint32(seq.Number))
	header := w.header[:copy(w.header[:], b[from:payload-size])]
	if !immutable(header) {
		return at, end, s.drop(Malformed)
	}
	s.mac.Lock()
	copy(ah[ahFixed:], s.mac.Sum(&w.Scratch, seq, header, b[payload-size:end]))
	s.mac.Unlock()
	return from, end, OK
}

func (s *SA) openAH(w *Scratch, b []byte, l Located) (from, to int, why Reason) {
	size := (int(b[l.header+1]) + 2) * 4 // with padding, of which there may be more than ours
	payload := l.header + size
	if payload > l.end || size < ahFixed+s.mac.Size() {
		return l.at, l.end, Short
	}
	seq, why := s.fresh(binary.BigEndian.Uint32(b[l.header+8:]))
	if why != OK {
		return l.at, l.end, why
	}
	header := w.header[:copy(w.header[:], b[l.at:l.header])]
	if !immutable(header) {
		return l.at, l.end, Malformed
	}
	icv := b[l.header+ahFixed : l.header+ahFixed+s.mac.Size()]
	had := w.icv[:copy(w.icv[:], icv)]
	clear(icv)
	s.mac.Lock()
	good := transform.Equal(had, s.mac.Sum(&w.Scratch, seq, header, b[l.header:l.end]))
	s.mac.Unlock()
	if !good {
		return l.at, l.end, Authentication
	}
	if why = s.accept(seq); why != OK {
		return l.at, l.end, why
	}
	return s.unwrap(b, l, payload, l.end, b[l.header])
}

// immutable zeroes what routers change in an IP header, its options and
// extension headers (RFC 4302 3.3.3.1, appendix A). False: it is routed by its
// source, or no header.
func immutable(b []byte) bool {
	if b[0]>>4 == 4 {
		b[1], b[6], b[7], b[8], b[10], b[11] = 0, 0, 0, 0, 0, 0
		return immutableOptions(b[ipv4Bytes:])
	}
	b[0], b[1], b[2], b[3], b[7] = 0x60, 0, 0, 0, 0
	for next, at := b[6], ipv6Bytes; at < len(b); {
		size := 8 + 8*int(b[at+1])
		if at+size > len(b) {
			return false
		}
		switch next {
		case protoRouting:
			if b[at+3] != 0 { // segments left
				return false
			}
		case protoHop, protoOptions:
			if !immutableTLVs(b[at+2 : at+size]) {
				return false
			}
		default:
			return false
		}
		next, at = b[at], at+size
	}
	return true
}

// immutableOptions zeroes the IPv4 options that may change.
func immutableOptions(b []byte) bool {
	for len(b) > 0 {
		n := 1
		if b[0] > 1 { // neither end nor no-operation
			if len(b) < 2 || int(b[1]) < 2 || int(b[1]) > len(b) {
				return false
			}
			n = int(b[1])
		}
		switch b[0] {
		case 0:
			return true
		case 131, 137: // loose and strict source route
			return false
		case 1, 130, 133, 134, 148, 149: // as they were (RFC 4302 A1)
		default:
			clear(b[:n])
		}
		b = b[n:]
	}
	return true
}

// immutableTLVs zeroes the values of IPv6 options that may change: the third
// bit of their type says so (RFC 8200 4.2).
func immutableTLVs(b []byte) bool {
	for len(b) > 0 {
		if b[0] == 0 { // Pad1
			b = b[1:]
			continue
		}
		if len(b) < 2 || 2+int(b[1]) > len(b) {
			return false
		}
		if b[0]&0x20 != 0 {
			clear(b[2 : 2+int(b[1])])
		}
		b = b[2+int(b[1]):]
	}
	return true
}
