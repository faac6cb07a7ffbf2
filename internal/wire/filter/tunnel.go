package filter

import "github.com/linerate/linerate/internal/wire/frame"

// vlan tests for a tag (IEEE 802.1Q, 802.1ad) with the ID given, -1 for any,
// and moves what follows in the expression behind it.
func (c *compiler) vlan(id int64) *condition {
	if c.labels > 0 {
		return c.fail("vlan can't follow mpls: labels carry no protocol number")
	}
	if c.link != frame.LinkEthernet {
		return c.fail("vlan needs Ethernet")
	}
	is := or(c.linkType(typeVLAN), or(c.linkType(typeSTag), c.linkType(typeQinQ)))
	if id >= 0 {
		if id > 0xfff {
			return c.fail("a VLAN ID is at most 4095")
		}
		is = and(is, masked(c.ip(), 0, SizeHalf, uint32(id), 0xfff))
	}
	c.payload.base += 4
	c.typ.base += 4
	return is
}

// mpls tests for a label stack entry (RFC 3032 2.1), the next one if there has
// been one already.
func (c *compiler) mpls(label int64) *condition {
	var is *condition
	switch {
	case c.labels > 0:
		is = not(c.lastLabel())
	case c.link == frame.LinkEthernet:
		is = c.linkType(typeMPLS)
	case c.link == linkPPP:
		is = c.linkType(pppMPLS)
	default:
		return c.fail("mpls needs Ethernet or PPPoE")
	}
	if label >= 0 {
		if label > 0xfffff {
			return c.fail("an MPLS label is at most 1048575")
		}
		is = and(is, masked(c.ip(), 0, SizeWord, uint32(label)<<12, 0xfffff000))
	}
	c.network += 4
	c.labels++
	return is
}

// lastLabel tests the bottom-of-stack bit of the last label entry.
func (c *compiler) lastLabel() *condition {
	return compare(field(c.payload, c.network-4+2, SizeByte), JumpAnyBit, 1)
}

// pppoes tests for a PPPoE session's frame (RFC 2516 4) and moves behind it.
func (c *compiler) pppoes(session int64) *condition {
	is := c.linkType(typePPPoES)
	if session >= 0 {
		if session > 0xffff {
			return c.fail("a PPPoE session is at most 65535")
		}
		is = and(is, equal(c.ip(), 2, SizeHalf, uint32(session)))
	}
	c.link, c.tunneled = linkPPP, false
	c.header = c.ip().plus(6)
	c.typ, c.payload, c.network = c.header, c.header.plus(2), 0
	return is
}

// UDP ports of the tunnels (RFC 8926 3.3, RFC 7348 5).
const (
	portGeneve = 6081
	portVXLAN  = 4789
)

// tunnel tests for Geneve or VXLAN over IPv4 and IPv6 and moves into it. first
// and mask are what the first byte of its header must say.
func (c *compiler) tunnel(port uint16, first, mask uint32, vni int64, inside func() []Instruction) *condition {
	if vni > 0xffffff {
		return c.fail("a virtual network identifier is at most 0xffffff")
	}
	is := never
	for _, t := range []transport{c.overIPv4(), c.overIPv6()} {
		one := t.port(ports{port, port}, toDestination, []uint32{protoUDP})
		one = and(one, compare(t.masked(8, SizeByte, mask), JumpEqual, first))
		if vni >= 0 {
			one = and(one, compare(t.masked(12, SizeWord, 0xffffff00), JumpEqual, uint32(vni)<<8))
		}
		// X is where the transport header starts, from the payload's constant
		// part on; the test that always holds leaves it to the offsets below.
		one = and(one, passes(t.start(), true))
		is = or(is, one)
	}
	load := []Instruction{{Op: ClassMove | MoveXToA}, {Op: ClassALU | Add, K: c.payload.base + c.network + 8}}
	load = append(load, inside()...)
	c.link, c.tunneled, c.network, c.labels = frame.LinkEthernet, true, 0, 0
	return and(is, passes(load, true))
}

// passes runs load and goes on: A equals itself.
func passes(load []Instruction, sets bool) *condition {
	load = append(load, Instruction{Op: ClassLoad | ModeImmediate})
	return &condition{test: test{load: load, jump: JumpEqual, sets: sets}}
}

// variable makes an offset that a register holds alone.
func (c *compiler) variable() offset {
	r := c.allocate()
	c.persistent = append(c.persistent, r)
	return offset{0, int(r)}
}

// geneve computes the offsets inside (RFC 8926 3.4) from where the header
// starts, in A: what follows is Ethernet, or bare IP if its protocol says so.
func (c *compiler) geneve() []Instruction {
	typ, header, payload := c.variable(), c.variable(), c.variable()
	store := func(o offset) Instruction { return Instruction{Op: ClassStore, K: uint32(o.register)} }
	code := []Instruction{
		{Op: ClassMove},
		{Op: ClassALU | Add, K: 2},
		store(typ),
		{Op: ClassLoad | ModeIndirect | SizeByte},
		{Op: ClassALU | And, K: 0x3f}, // length of the options
		{Op: ClassALU | Multiply, K: 4},
		{Op: ClassALU | Add, K: 8},
		{Op: ClassALU | Add | SourceX},
		store(header),
		{Op: ClassLoad | ModeIndirect | SizeHalf, K: 2},
		{Op: ClassLoadX | ModeMemory, K: uint32(header.register)},
		{Op: ClassJump | JumpEqual, Jf: 5, K: typeTEB},
		{Op: ClassMove | MoveXToA},
		{Op: ClassALU | Add, K: 12},
		store(typ),
		{Op: ClassALU | Add, K: 2},
		{Op: ClassMove},
		{Op: ClassStoreX, K: uint32(payload.register)},
	}
	c.typ, c.header, c.payload = typ, header, payload
	return code
}

// vxlan is the same for a VXLAN header (RFC 7348 5): Ethernet after 8 bytes.
func (c *compiler) vxlan() []Instruction {
	header, typ, payload := c.variable(), c.variable(), c.variable()
	c.typ, c.header, c.payload = typ, header, payload
	return []Instruction{
		{Op: ClassALU | Add, K: 8},
		{Op: ClassStore, K: uint32(header.register)},
		{Op: ClassALU | Add, K: 12},
		{Op: ClassStore, K: uint32(typ.register)},
		{Op: ClassALU | Add, K: 2},
		{Op: ClassStore, K: uint32(payload.register)},
	}
}

// ethernetInside tests that a tunnel carries a link layer at all: one that is
// as long as nothing is none.
func (c *compiler) ethernetInside() *condition {
	if !c.tunneled {
		return always
	}
	return not(compare([]Instruction{
		{Op: ClassLoad | ModeMemory, K: uint32(c.header.register)},
		{Op: ClassLoadX | ModeMemory, K: uint32(c.payload.register)},
	}, JumpEqual|SourceX, 0))
}
