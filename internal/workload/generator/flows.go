package generator

import "math/bits"

// order returns which flow the i-th frame of a round is of: each has one a
// round. It is the twin of shuffle in generator.bpf.c.
func (p Profile) order(i, round uint64) uint64 {
	if !p.Shuffled {
		return i
	}
	mask, shift := uint32(p.Flows-1), bits.Len(uint(p.Flows))-1
	x := (uint32(i)*0x9e3779b1 + uint32(round)*0x85ebca6b) & mask
	x ^= x >> (shift/2 + 1)
	return uint64(x * 0xc2b2ae35 & mask)
}

// port returns the UDP source port of a flow: from 0xc020 on (RFC 2544
// C.2.6.4), or anywhere above 1023 (RFC 4814 4.4).
func (p Profile) port(flow uint16) uint16 {
	if !p.Shuffled {
		return sourcePort + flow&0x3fff
	}
	port := uint16(uint32(flow) * 40503)
	if port < 1024 {
		port += 1024
	}
	return port
}
