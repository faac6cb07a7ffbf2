package segment

import (
	"encoding/binary"

	"github.com/linerate/linerate/internal/wire/frame"
)

// Split puts the packets of a super-packet into the batch, checksums filled in.
// A batch without room for all takes none; ok is false then.
func Split(h Header, b []byte, into *Batch) (ok bool, err error) {
	if len(b) < 20 || b[0]>>4 == 6 && len(b) < 40 {
		return true, ErrMalformed
	}
	if h.GSO == None {
		p := into.Next(len(b))
		if p == nil {
			if into.Free() > 0 {
				return true, ErrMalformed // longer than the device's MTU
			}
			return false, nil
		}
		copy(p.Bytes(), b)
		if h.Flags&NeedsChecksum != 0 {
			return true, complete(h, p.Bytes())
		}
		return true, nil
	}
	s := splitter{transport: int(h.ChecksumStart), size: int(h.Size)}
	s.header = s.transport + 8
	switch kind := h.GSO &^ ecn; {
	case h.Flags&NeedsChecksum == 0 || s.size == 0 || s.transport < 20 || s.transport+20 > len(b):
		return true, ErrMalformed
	case kind == TCPv4 && b[0]>>4 == 4 && protocol(b) == tcp, kind == TCPv6 && b[0]>>4 == 6:
		s.header = s.transport + int(b[s.transport+12]>>4)*4
		s.protocol = tcp
	case kind == UDP:
		s.protocol = udp
	default:
		return true, ErrMalformed
	}
	if s.header > len(b) || s.protocol == tcp && s.header < s.transport+20 || b[0]>>4 == 6 && s.transport < 40 ||
		b[0]>>4 == 4 && s.transport != int(b[0]&15)*4 || s.header+s.size > into.length {
		return true, ErrMalformed
	}
	n := max(1, (len(b)-s.header+s.size-1)/s.size)
	if n > len(into.all) {
		return true, ErrMalformed
	}
	if n > into.Free() {
		return false, nil
	}
	for i := range n {
		s.cut(b, i, n, into)
	}
	return true, nil
}

// splitter is what is the same for all segments of a super-packet.
type splitter struct {
	transport int // where the transport header is
	header    int // bytes that every segment repeats
	size      int // of payload
	protocol  uint8
}

// cut makes the i-th of n segments.
func (s *splitter) cut(b []byte, i, n int, into *Batch) {
	payload := b[s.header+i*s.size : min(s.header+(i+1)*s.size, len(b))]
	p := into.Next(s.header + len(payload)).Bytes()
	copy(p, b[:s.header])
	copy(p[s.header:], payload)
	if b[0]>>4 == 4 { // one after the other, as the stack would number them
		binary.BigEndian.PutUint16(p[4:], binary.BigEndian.Uint16(b[4:])+uint16(i))
	}
	lengths(p, len(p))
	t := p[s.transport:]
	at := 6
	if s.protocol == tcp {
		at = 16
		binary.BigEndian.PutUint32(t[4:], binary.BigEndian.Uint32(t[4:])+uint32(i*s.size))
		if i > 0 {
			t[13] &^= frame.CWR // the first only (RFC 3168 6.1.2)
		}
		if i < n-1 {
			t[13] &^= frame.FIN | frame.PSH
		}
	} else {
		binary.BigEndian.PutUint16(t[4:], uint16(len(t)))
	}
	t[at], t[at+1] = 0, 0
	c := ^frame.Fold(frame.Sum(pseudo(p, s.protocol, len(t)), t))
	if c == 0 && s.protocol == udp {
		c = 0xffff
	}
	binary.BigEndian.PutUint16(t[at:], c)
}

// complete fills in a checksum whose field holds the pseudo-header's sum.
func complete(h Header, b []byte) error {
	start, at := int(h.ChecksumStart), int(h.ChecksumStart)+int(h.ChecksumOffset)
	if at+2 > len(b) {
		return ErrMalformed
	}
	c := ^frame.Fold(frame.Sum(0, b[start:]))
	if c == 0 {
		c = 0xffff // both stand for zero; UDP wants this one (RFC 768)
	}
	binary.BigEndian.PutUint16(b[at:], c)
	return nil
}
