package sa

import (
	"encoding/binary"

	"github.com/linerate/linerate/internal/wire/frame"
)

// Codepoints of ECN (RFC 3168 section 5).
const (
	notECT = 0
	ect1   = 1
	ect0   = 2
	ce     = 3
)

// decapsulateECN carries what routers said to the outer header over to the inner
// one (RFC 6040 4.2); false means that the packet must be dropped.
func decapsulateECN(b []byte, inner ip, outer uint8) bool {
	now := inner.tos & 3
	want := now
	switch {
	case outer == ce && now == notECT:
		return false
	case outer == ce:
		want = ce
	case outer == ect1 && now == ect0:
		want = ect1
	}
	if want == now {
		return true
	}
	if inner.version == 6 {
		b[1] = b[1]&^0x30 | want<<4
		return true
	}
	b[1] = b[1]&^3 | want
	fixChecksum(b[:inner.header])
	return true
}

// renewChecksum writes the checksum of TCP or UDP anew: NAT on the way has
// changed addresses that it covers. The ICV vouches for the rest (RFC 3948
// 3.1.2).
func renewChecksum(b []byte, h ip, protocol uint8) {
	at := 16
	switch protocol {
	case frame.ProtoUDP:
		at = 6
	case frame.ProtoTCP:
	default:
		return
	}
	p := b[h.header:]
	if len(p) < at+2 || protocol == frame.ProtoUDP && p[6] == 0 && p[7] == 0 {
		return
	}
	p[at], p[at+1] = 0, 0
	addresses := b[12:20]
	if h.version == 6 {
		addresses = b[8:40]
	}
	c := ^frame.Fold(frame.Sum(frame.Sum(uint64(len(p))+uint64(protocol), addresses), p))
	if c == 0 && protocol == frame.ProtoUDP {
		c = 0xffff
	}
	binary.BigEndian.PutUint16(p[at:], c)
}
