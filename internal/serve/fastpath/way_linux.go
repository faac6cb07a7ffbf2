package fastpath

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"
)

// Flags of a way, as in bpf/flow.h.
const (
	flagNAT     = 1
	flagMangled = 2
	flagFirst   = 4
)

// fill makes the way one whose packets come in as in and leave as out.
func (w *programWay) fill(in, out Tuple) {
	k, n := keyOf(in), translate(in, out)
	*w = programWay{Addresses: k.addresses, Ports: k.ports, Kind: k.kind, State: w.State, NetworkDelta: n.network, TransportDelta: n.transport}
	if n.changes {
		w.Flags |= flagNAT
	}
	w.Sport, w.Dport = nativePort(out.Source), nativePort(out.Target)
	if in.Source.Addr().Is4() {
		var four [2]uint32
		putAddress(four[:1], out.Source.Addr())
		putAddress(four[1:], out.Target.Addr())
		w.Source, w.Target = four[0], four[1]
		return
	}
	putAddress(w.FromSource[:], in.Source.Addr())
	putAddress(w.FromTarget[:], in.Target.Addr())
	putAddress(w.ToSource[:], out.Source.Addr())
	putAddress(w.ToTarget[:], out.Target.Addr())
}

// out reads back what packets of the way leave as.
func (w *programWay) out() Tuple {
	source, target := getAddress([]uint32{w.Source}), getAddress([]uint32{w.Target})
	if w.Kind&kindSix != 0 {
		source, target = getAddress(w.ToSource[:]), getAddress(w.ToTarget[:])
	}
	return Tuple{netip.AddrPortFrom(source, portOf(w.Sport)), netip.AddrPortFrom(target, portOf(w.Dport)), uint8(w.Kind)}
}

// comesAs reports whether packets of the way come in as t, whose key is k.
func (w *programWay) comesAs(t Tuple, k key) bool {
	if w.Addresses != k.addresses || w.Ports != k.ports || w.Kind != k.kind {
		return false
	}
	return t.Source.Addr().Is4() || getAddress(w.FromSource[:]) == t.Source.Addr() && getAddress(w.FromTarget[:]) == t.Target.Addr()
}

func (w *programWay) state() programState {
	return programState(atomic.LoadUint32((*uint32)(&w.State)))
}

func (w *programWay) set(s programState) { atomic.StoreUint32((*uint32)(&w.State), uint32(s)) }

// live reports whether a connection has the way.
func (w *programWay) live() bool { return w.state() >= programStateLIVE }

func nativePort(a netip.AddrPort) uint16 {
	b := bigEndian(a.Port())
	return binary.NativeEndian.Uint16(b[:])
}

func portOf(native uint16) uint16 {
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], native)
	return binary.BigEndian.Uint16(b[:])
}

func putAddress(to []uint32, a netip.Addr) {
	b := a.AsSlice()
	for i := range to {
		to[i] = binary.NativeEndian.Uint32(b[4*i:])
	}
}

func getAddress(from []uint32) netip.Addr {
	var b []byte
	for _, w := range from {
		b = binary.NativeEndian.AppendUint32(b, w)
	}
	a, _ := netip.AddrFromSlice(b) // of 4 or 16 bytes
	return a
}
