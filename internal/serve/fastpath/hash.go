package fastpath

import (
	"encoding/binary"
	"net/netip"
)

// key is struct key of bpf/flow.h.
type key struct {
	addresses uint64
	ports     uint32
	kind      uint16
}

// kindSix marks the kind of an IPv6 key.
const kindSix = 0x100

// Multipliers of the hash: odd, their bits without pattern.
const (
	multiplier1 = 0x9e3779b97f4a7c15
	multiplier2 = 0xd6e8feb86659fd93
)

// keyOf is what the programs look for when a packet of t comes in. Numbers are
// as they lie in memory.
func keyOf(t Tuple) key {
	k := key{kind: uint16(t.Protocol)}
	s, d := bigEndian(t.Source.Port()), bigEndian(t.Target.Port())
	k.ports = uint32(binary.NativeEndian.Uint16(s[:]))<<16 | uint32(binary.NativeEndian.Uint16(d[:]))
	k.addresses = uint64(folded(t.Source.Addr()))<<32 | uint64(folded(t.Target.Addr()))
	if t.Source.Addr().Is6() {
		k.kind |= kindSix
	}
	return k
}

// folded is an IPv4 address, or a hash of an IPv6 one: fold6 of bpf/find.h.
func folded(a netip.Addr) uint32 {
	if a.Is4() {
		b := a.As4()
		return binary.NativeEndian.Uint32(b[:])
	}
	b := a.As16()
	word := func(i int) uint64 { return uint64(binary.NativeEndian.Uint32(b[4*i:])) }
	h := (word(0)<<32 | word(1)) * multiplier1
	h = (h ^ h>>32 ^ (word(2)<<32 | word(3))) * multiplier2
	return uint32(h >> 32)
}

// mix is mix of bpf/find.h: the place to look at first, before masking.
func (k key) mix(seed uint32) uint32 {
	h := (k.addresses ^ uint64(seed)) * multiplier1
	h ^= h >> 32
	h = (h ^ uint64(k.ports) ^ uint64(k.kind)<<32) * multiplier2
	return uint32(h >> 32)
}
