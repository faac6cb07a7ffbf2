package capture

import (
	"net/netip"

	"github.com/linerate/linerate/internal/wire/frame"
)

// key identifies a flow in both directions: the lower end first.
type key struct {
	a, b   frame.Addr
	pa, pb uint16
	proto  uint8
}

// keyOf returns the flow of p and which end sent it: 0 the first of the key.
func keyOf(p *frame.Packet) (key, int) {
	if p.Src.Lo < p.Dst.Lo || p.Src.Lo == p.Dst.Lo && (p.Src.Hi < p.Dst.Hi || p.Src.Hi == p.Dst.Hi && p.SrcPort <= p.DstPort) {
		return key{p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto}, 0
	}
	return key{p.Dst, p.Src, p.DstPort, p.SrcPort, p.Proto}, 1
}

// end returns the address and port of one end.
func (k *key) end(side int) netip.AddrPort {
	if side == 0 {
		return netip.AddrPortFrom(k.a.Netip(), k.pa)
	}
	return netip.AddrPortFrom(k.b.Netip(), k.pb)
}

func (k *key) hash() uint64 {
	const m = 0x9e3779b97f4a7c15
	h := (k.a.Lo ^ k.a.Hi) * m
	h = (h ^ h>>29 ^ k.b.Lo ^ k.b.Hi<<1) * m
	h = (h ^ h>>32 ^ uint64(k.pa)<<24 ^ uint64(k.pb)<<8 ^ uint64(k.proto)) * m
	return h ^ h>>32
}

// flow is the little that is kept of every flow: what a connection needs to
// know of its handshake once it carries data, and totals. It has no pointer but
// one, for a table of millions.
type flow struct {
	key         key
	conn        *connection
	first, last int64
	packets     [2]uint32
	bytes       [2]uint64
	firstFrame  uint32
	syn         [2]handshake
	reply       int64 // time of the client's first acknowledgement
	client      int8  // side of the first SYN, -1 unknown
	closed      bool
}

// handshake is what one end's SYN said, and its first timestamp.
type handshake struct {
	at       int64 // capture time of the SYN
	stampAt  int64 // capture time of stamp
	isn      uint32
	stamp    uint32 // first timestamp value
	mss      uint16
	window   uint16 // window field last seen
	scale    uint8
	sent     uint8 // times
	hasScale bool
	stamped  bool
}

// table finds flows by key: open addressing over indexes into chunks, so that
// it costs 8 bytes a flow beside the flow itself and the collector never scans
// the keys.
type table struct {
	slots  []uint32 // index+1, 0 where free
	chunks [][]flow
	n      int
	last   *flow
}

// hit returns the flow of p where it is the one of the frame before, as it
// mostly is, without making a key.
func (t *table) hit(p *frame.Packet) (f *flow, side int) {
	f = t.last
	if f == nil || f.key.proto != p.Proto {
		return nil, 0
	}
	k := &f.key
	switch {
	case k.pa == p.SrcPort && k.pb == p.DstPort && k.a == p.Src && k.b == p.Dst:
		return f, 0
	case k.pa == p.DstPort && k.pb == p.SrcPort && k.a == p.Dst && k.b == p.Src:
		return f, 1
	}
	return nil, 0
}

const chunk = 1024

func (t *table) at(i uint32) *flow { return &t.chunks[i/chunk][i%chunk] }

// find returns the flow of k, new if need be.
func (t *table) find(k *key) (f *flow, fresh bool) {
	if 2*t.n >= len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for i := k.hash() & mask; ; i = (i + 1) & mask {
		if t.slots[i] == 0 {
			if t.n%chunk == 0 {
				t.chunks = append(t.chunks, make([]flow, chunk))
			}
			t.slots[i] = uint32(t.n) + 1
			f = t.at(uint32(t.n))
			t.n++
			f.key, f.client = *k, -1
			t.last = f
			return f, true
		}
		if f = t.at(t.slots[i] - 1); f.key == *k {
			t.last = f
			return f, false
		}
	}
}

func (t *table) grow() {
	old := t.slots
	t.slots = make([]uint32, max(2*len(old), 2*chunk))
	mask := uint64(len(t.slots) - 1)
	for _, s := range old {
		if s == 0 {
			continue
		}
		i := t.at(s-1).key.hash() & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = s
	}
}
