package sa

import (
	"encoding/binary"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/transform"
	"github.com/linerate/linerate/internal/wire/frame"
)

const espBytes = 8 // SPI and sequence number

// overhead is what an association adds to a packet.
type overhead struct {
	before int // bytes before the payload, outer header included
	after  int // ICV
	align  int // of payload and trailer; 1 for AH
	iv     int
}

func (s *SA) measure() (o overhead) {
	if s.p.Mode == Tunnel {
		o.before = s.outerBytes()
	}
	if s.p.Protocol == AH {
		o.before += s.ahBytes()
		o.align = 1
		return o
	}
	if s.p.Encap != (Encap{}) {
		o.before += udpBytes
	}
	o.iv, o.align, o.after = s.t.IV(), s.t.Align(), s.t.ICV()
	o.before += espBytes + o.iv
	return o
}

// Room returns the longest packet that, protected, fits the path's MTU.
func (s *SA) Room() int {
	room := s.PathMTU() - s.overhead.before - s.overhead.after
	if s.p.Protocol == AH {
		return room
	}
	if s.p.Mode == Transport { // padding counts from the payload on: take the shortest IP header
		header := s.outerBytes()
		return header + (room-header)/s.overhead.align*s.overhead.align - 2
	}
	return room/s.overhead.align*s.overhead.align - 2
}

// sealed returns the length that a packet will have.
func (s *SA) sealed(h ip) int {
	o, header := s.overhead, 0
	if s.p.Mode == Transport {
		header = h.header
	}
	n := h.length - header
	if s.p.Protocol == ESP {
		n = (n + 2 + o.align - 1) / o.align * o.align
	}
	return header + o.before + n + o.after
}

// Seal protects the IP packet b[at:end] in place; before it there are Headroom
// bytes, behind it Tailroom. b[from:to] is what to send, if the reason is OK.
func (s *SA) Seal(w *Scratch, b []byte, at, end int) (from, to int, why Reason) {
	h, ok := parse(b[at:end])
	if !ok {
		return at, end, s.drop(Malformed)
	}
	end = at + h.length
	if s.p.Mode == Transport && h.fragment { // whole packets only (RFC 4303 3.3.4)
		return at, end, s.drop(Fragment)
	}
	if s.sealed(h) > s.PathMTU() {
		return at, end, s.drop(TooBig)
	}
	seq, why := s.next(h.length)
	if why != OK {
		return at, end, s.drop(why)
	}
	if s.p.Protocol == AH {
		return s.sealAH(w, b, at, end, h, seq)
	}
	payload, protocol := at, uint8(frame.ProtoIPIP)
	switch {
	case s.p.Mode == Transport:
		payload, protocol = at+h.header, h.protocol
	case h.version == 6:
		protocol = frame.ProtoIPv6
	}
	esp := payload - espBytes - s.overhead.iv
	from = esp
	if s.p.Encap != (Encap{}) {
		from -= udpBytes
	}
	if s.p.Mode == Transport { // out of the way before ESP is written
		copy(b[from-h.header:], b[at:at+h.header])
	}
	end = trail(b, payload, end, s.overhead.align, protocol)
	binary.BigEndian.PutUint32(b[esp:], s.p.SPI)
	binary.BigEndian.PutUint32(b[esp+4:], uint32(seq.Number))
	to = end + s.overhead.after
	s.t.Seal(&w.Scratch, b, esp, end, seq)
	if from != esp {
		s.udp(b[from:to])
	}
	return s.head(b, from, to, h, seq), to, OK
}

// head puts the IP header before b[from:to]: a new one, or in transport mode
// the packet's own, which is there already.
func (s *SA) head(b []byte, from, to int, h ip, seq transform.Sequence) int {
	protocol := uint8(protoESP)
	if s.p.Encap != (Encap{}) {
		protocol = frame.ProtoUDP
	}
	if s.p.Mode == Tunnel {
		from -= s.outerBytes()
		s.outer(b[from:to], h, protocol, seq.Number)
		return from
	}
	from -= h.header
	b[from+h.next] = protocol
	setLength(b[from:to], h)
	return from
}

// trail writes padding, its length and the payload's protocol behind the
// payload (RFC 4303 2.4 to 2.6), and returns their end.
func trail(b []byte, payload, end, align int, protocol uint8) int {
	pad := (align - (end-payload+2)%align) % align
	for i := range pad {
		b[end+i] = byte(i + 1)
	}
	end += pad
	b[end], b[end+1] = byte(pad), protocol
	return end + 2
}
