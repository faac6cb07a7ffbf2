package ipsec

import (
	"encoding/binary"
	"net/netip"

	"github.com/linerate/linerate/internal/wire/frame"
)

// flow is what rules look at of a packet. IPv4 addresses are held as
// ::ffff:a.b.c.d.
type flow struct {
	source, target         frame.Addr
	sourcePort, targetPort uint16 // 0 where there is none, as in later fragments
	protocol               uint8
	six                    bool
}

// flowOf reads a packet; false means that it is none.
func flowOf(b []byte) (f flow, ok bool) {
	header := 20
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		f.source, f.target = frame.AddrFrom4(binary.BigEndian.Uint32(b[12:])), frame.AddrFrom4(binary.BigEndian.Uint32(b[16:]))
		f.protocol, header = b[9], int(b[0]&15)*4
		if b[6]&0x1f != 0 || b[7] != 0 {
			return f, true
		}
	case len(b) >= 40 && b[0]>>4 == 6:
		f.six = true
		f.source = frame.Addr{Hi: binary.BigEndian.Uint64(b[8:]), Lo: binary.BigEndian.Uint64(b[16:])}
		f.target = frame.Addr{Hi: binary.BigEndian.Uint64(b[24:]), Lo: binary.BigEndian.Uint64(b[32:])}
		if f.protocol, header, ok = upper(b); !ok {
			return f, false
		} else if header == 0 {
			return f, true
		}
	default:
		return f, false
	}
	switch f.protocol {
	case frame.ProtoTCP, frame.ProtoUDP, 132:
		if len(b) >= header+4 {
			f.sourcePort, f.targetPort = binary.BigEndian.Uint16(b[header:]), binary.BigEndian.Uint16(b[header+2:])
		}
	}
	return f, true
}

// upper skips the extension headers of IPv6; a header of 0 is a later fragment's.
func upper(b []byte) (protocol uint8, header int, ok bool) {
	protocol, header = b[6], 40
	for range 8 {
		switch protocol {
		case 0, 43, 60: // hop-by-hop, routing, destination options
			if len(b) < header+8 {
				return 0, 0, false
			}
			protocol, header = b[header], header+8+8*int(b[header+1])
		case 44:
			if len(b) < header+8 {
				return 0, 0, false
			}
			later := binary.BigEndian.Uint16(b[header+2:])&^7 != 0
			if protocol, header = b[header], header+8; later {
				return protocol, 0, true
			}
		default:
			return protocol, header, true
		}
	}
	return 0, 0, false
}

// reverse returns the flow of answers.
func (f flow) reverse() flow {
	f.source, f.target, f.sourcePort, f.targetPort = f.target, f.source, f.targetPort, f.sourcePort
	return f
}

// network is a prefix to compare with.
type network struct {
	value, mask frame.Addr
	six, any    bool
}

func networkOf(p netip.Prefix) network {
	if !p.IsValid() {
		return network{any: true}
	}
	bits := p.Bits()
	if p.Addr().Is4() {
		bits += 96
	}
	ones := func(n int) uint64 { return ^uint64(0) << (64 - min(max(n, 0), 64)) }
	n := network{mask: frame.Addr{Hi: ones(bits), Lo: ones(bits - 64)}, six: p.Addr().Is6()}
	a := frame.AddrFrom(p.Addr())
	n.value = frame.Addr{Hi: a.Hi & n.mask.Hi, Lo: a.Lo & n.mask.Lo}
	return n
}

func (n network) has(a frame.Addr, six bool) bool {
	return n.any || n.six == six && a.Hi&n.mask.Hi == n.value.Hi && a.Lo&n.mask.Lo == n.value.Lo
}

// hash spreads flows over the entries of a cache.
func (f flow) hash() uint64 {
	const k = 0x9e3779b97f4a7c15
	h := (f.source.Hi ^ f.target.Hi ^ uint64(f.protocol)) * k
	h = (h ^ f.source.Lo) * k
	h = (h ^ h>>32 ^ f.target.Lo) * k
	h = (h ^ uint64(f.sourcePort)<<16 ^ uint64(f.targetPort)) * k
	return h ^ h>>29
}
