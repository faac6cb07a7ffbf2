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
	flagSix     = 4
)

// set puts both ways of a pair into a state.
func (p *programPair) set(s programState) {
	atomic.StoreUint32((*uint32)(&p.Way[0].State), uint32(s))
	atomic.StoreUint32((*uint32)(&p.Way[1].State), uint32(s))
}

func (p *programPair) state() programState {
	return programState(atomic.LoadUint32((*uint32)(&p.Way[0].State)))
}

// putOut notes the addresses and ports that packets of the way leave with.
func (w *programWay) putOut(x Tuple) {
	s, d := bigEndian(x.Source.Port()), bigEndian(x.Target.Port())
	w.Sport, w.Dport = binary.NativeEndian.Uint16(s[:]), binary.NativeEndian.Uint16(d[:])
	if x.Source.Addr().Is6() {
		w.Flags |= flagSix
		putAddress(w.Saddr[:], x.Source.Addr())
		putAddress(w.Daddr[:], x.Target.Addr())
		return
	}
	var four [2]uint32
	putAddress(four[:1], x.Source.Addr())
	putAddress(four[1:], x.Target.Addr())
	w.Source, w.Target = four[0], four[1]
}

// out reads back what putOut noted.
func (w *programWay) out() Tuple {
	source, target := getAddress([]uint32{w.Source}), getAddress([]uint32{w.Target})
	if w.Flags&flagSix != 0 {
		source, target = getAddress(w.Saddr[:]), getAddress(w.Daddr[:])
	}
	var s, d [2]byte
	binary.NativeEndian.PutUint16(s[:], w.Sport)
	binary.NativeEndian.PutUint16(d[:], w.Dport)
	return Tuple{netip.AddrPortFrom(source, binary.BigEndian.Uint16(s[:])), netip.AddrPortFrom(target, binary.BigEndian.Uint16(d[:])), w.Proto}
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
