package sa

import (
	"encoding/binary"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/transform"
	"github.com/linerate/linerate/internal/wire/frame"
)

// Located says where in a buffer the IPsec header of a packet is.
type Located struct {
	SPI      uint32
	Protocol uint8 // 50 ESP, 51 AH
	at, end  int
	header   int // of ESP or AH
	encap    bool
	ip       ip
}

// Locate finds the IPsec header of the packet b[at:end]. UDP datagrams from or
// to port may hold ESP; 0 means that none do. Reasons other than OK say whose
// the packet is instead.
func Locate(b []byte, at, end int, port uint16) (l Located, why Reason) {
	h, ok := parse(b[at:end])
	if !ok {
		return l, Malformed
	}
	l = Located{Protocol: h.protocol, at: at, end: at + h.length, header: at + h.header, ip: h}
	if h.protocol == frame.ProtoUDP && port != 0 && !h.fragment && l.end-l.header >= udpBytes {
		u := b[l.header:l.end]
		if binary.BigEndian.Uint16(u) != port && binary.BigEndian.Uint16(u[2:]) != port {
			return l, NotIPsec
		}
		if n := int(binary.BigEndian.Uint16(u[4:])); n < udpBytes || n > len(u) {
			return l, Malformed
		} else if u = u[udpBytes:n]; len(u) == 1 && u[0] == keepAlive {
			return l, KeepAlive
		}
		if len(u) < 4 {
			return l, Malformed
		}
		if binary.BigEndian.Uint32(u) == 0 {
			return l, IKE
		}
		l.header, l.encap, l.Protocol = l.header+udpBytes, true, protoESP
		l.end = l.header + len(u)
	}
	offset := 0
	switch l.Protocol {
	case protoAH:
		offset = 4
	case protoESP:
	default:
		return l, NotIPsec
	}
	if h.fragment {
		return l, Fragment
	}
	if l.end-l.header < offset+8 {
		return l, Malformed
	}
	l.SPI = binary.BigEndian.Uint32(b[l.header+offset:])
	return l, OK
}

// keepAlive is the whole payload of a NAT keep-alive (RFC 3948 2.3).
const keepAlive = 0xff

// Open checks and opens, in place, what Locate found in b. b[from:to] is the IP
// packet that was inside.
func (s *SA) Open(w *Scratch, b []byte, l Located) (from, to int, why Reason) {
	if l.encap != (s.p.Encap != (Encap{})) || (l.Protocol == protoAH) != (s.p.Protocol == AH) || (l.ip.version == 4) != s.p.Target.Is4() {
		return l.at, l.end, s.drop(Mismatch)
	}
	if s.p.Protocol == AH {
		from, to, why = s.openAH(w, b, l)
	} else {
		from, to, why = s.openESP(w, b, l)
	}
	if why == OK {
		why = s.use(to - from)
	}
	if why != OK {
		s.drop(why)
	}
	return from, to, why
}

func (s *SA) openESP(w *Scratch, b []byte, l Located) (from, to int, why Reason) {
	payload := l.header + espBytes + s.overhead.iv
	size := l.end - s.overhead.after - payload // of payload and trailer
	if size < 2 || size%s.overhead.align != 0 {
		return l.at, l.end, Short
	}
	seq, why := s.fresh(binary.BigEndian.Uint32(b[l.header+4:]))
	if why != OK {
		return l.at, l.end, why
	}
	if !s.t.Open(&w.Scratch, b, l.header, l.end, seq) {
		return l.at, l.end, Authentication
	}
	if why = s.accept(seq); why != OK {
		return l.at, l.end, why
	}
	end := payload + size
	pad, next := int(b[end-2]), b[end-1]
	if pad+2 > size {
		return l.at, l.end, Padding
	}
	end -= pad + 2
	for i := range pad {
		if b[end+i] != byte(i+1) {
			return l.at, l.end, Padding
		}
	}
	return s.unwrap(b, l, payload, end, next)
}

// unwrap makes the packet of an opened payload.
func (s *SA) unwrap(b []byte, l Located, payload, end int, next uint8) (from, to int, why Reason) {
	if next == protoNone {
		return l.at, l.end, Dummy
	}
	if s.p.Mode == Transport {
		from = payload - l.ip.header
		copy(b[from:payload], b[l.at:l.at+l.ip.header])
		b[from+l.ip.next] = next
		setLength(b[from:end], l.ip)
		if l.encap {
			renewChecksum(b[from:end], l.ip, next)
		}
		return from, end, OK
	}
	if next != frame.ProtoIPIP && next != frame.ProtoIPv6 {
		return l.at, l.end, NextHeader
	}
	inner, ok := parse(b[payload:end])
	if !ok || (inner.version == 4) != (next == frame.ProtoIPIP) {
		return l.at, l.end, NextHeader
	}
	// Bytes behind the packet hide its length (RFC 4303 2.7).
	end = payload + inner.length
	if !decapsulateECN(b[payload:end], inner, l.ip.tos&3) {
		return l.at, l.end, Congestion
	}
	return payload, end, OK
}

// fresh makes a whole sequence number of what the packet carries and refuses
// what came before.
func (s *SA) fresh(low uint32) (transform.Sequence, Reason) {
	seq := transform.Sequence{Number: uint64(low), Extended: s.p.ESN}
	if s.window == nil {
		return seq, OK
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.p.ESN {
		seq.Number = s.window.Expand(low)
	}
	return seq, s.window.Check(seq.Number)
}

// accept marks the number of an authentic packet, unless another with the same
// one was faster.
func (s *SA) accept(seq transform.Sequence) Reason {
	if s.window == nil {
		return OK
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	why := s.window.Check(seq.Number)
	if why == OK {
		s.window.Mark(seq.Number)
	}
	return why
}
