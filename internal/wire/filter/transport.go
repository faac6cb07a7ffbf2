package filter

// IP protocols (IANA).
const (
	protoICMP   = 1
	protoIGMP   = 2
	protoTCP    = 6
	protoIGRP   = 9
	protoUDP    = 17
	protoFrag   = 44
	protoESP    = 50
	protoAH     = 51
	protoICMPv6 = 58
	protoPIM    = 103
	protoVRRP   = 112 // CARP took the same
	protoSCTP   = 132
)

const ipv6Header = 40 // bytes (RFC 8200 3)

// direction says which of a packet's two addresses or ports is meant.
type direction uint8

const (
	eitherWay direction = iota
	fromSource
	toDestination
	bothWays
)

// of combines the tests of the two.
func (d direction) of(source, destination *condition) *condition {
	switch d {
	case fromSource:
		return source
	case toDestination:
		return destination
	case bothWays:
		return and(source, destination)
	}
	return or(source, destination)
}

// ports is a range, ends included.
type ports struct{ low, high uint16 }

// transport makes tests of the header behind IPv4 or IPv6; behind IPv6 only
// where no extension header is between.
type transport struct {
	c    *compiler
	ipv4 bool
}

func (c *compiler) overIPv4() transport { return transport{c, true} }
func (c *compiler) overIPv6() transport { return transport{c, false} }

// start brings where the header starts into X, counted from the constant part
// of the network layer's offset.
func (t transport) start() []Instruction {
	o := t.c.ip()
	if t.ipv4 {
		return t.c.ipHeaderLength()
	}
	if o.register == noRegister {
		return []Instruction{{Op: ClassLoadX | ModeImmediate, K: ipv6Header}}
	}
	return []Instruction{
		{Op: ClassLoad | ModeMemory, K: uint32(o.register)},
		{Op: ClassALU | Add, K: ipv6Header},
		{Op: ClassMove},
	}
}

// ipHeaderLength brings the length of the IPv4 header into X, with what is
// variable of its offset.
func (c *compiler) ipHeaderLength() []Instruction {
	o := c.ip()
	if o.register == noRegister {
		return []Instruction{{Op: ClassLoadX | ModeIPHeader | SizeByte, K: o.base}}
	}
	return append(field(o, 0, SizeByte),
		Instruction{Op: ClassALU | And, K: 0xf},
		Instruction{Op: ClassALU | Left, K: 2},
		Instruction{Op: ClassALU | Add | SourceX},
		Instruction{Op: ClassMove})
}

// field loads a field of the header.
func (t transport) field(k uint32, size uint16) []Instruction {
	o := t.c.ip()
	if !t.ipv4 {
		return field(o, ipv6Header+k, size)
	}
	return append(t.start(), Instruction{Op: ClassLoad | ModeIndirect | size, K: o.base + k})
}

func (t transport) masked(k uint32, size uint16, mask uint32) []Instruction {
	return append(t.field(k, size), Instruction{Op: ClassALU | And, K: mask})
}

// protocol tests the protocol field of the IP header.
func (t transport) protocol(p uint32) *condition {
	if t.ipv4 {
		return equal(t.c.ip(), 9, SizeByte, p)
	}
	return equal(t.c.ip(), 6, SizeByte, p)
}

// port tests for a port of one of the protocols.
func (t transport) port(p ports, d direction, protocols []uint32) *condition {
	one := func(k uint32) *condition {
		if p.low == p.high {
			return compare(t.field(k, SizeHalf), JumpEqual, uint32(p.low))
		}
		return and(compare(t.field(k, SizeHalf), JumpAtLeast, uint32(p.low)), not(compare(t.field(k, SizeHalf), JumpGreater, uint32(p.high))))
	}
	is := never
	for _, proto := range protocols {
		is = or(is, t.protocol(proto))
	}
	link := t.c.linkType(typeIPv6)
	if t.ipv4 {
		link = t.c.linkType(typeIPv4)
		is = and(is, t.c.firstFragment())
	}
	return and(link, and(is, d.of(one(0), one(2))))
}

// firstFragment tests that an IPv4 packet isn't a fragment other than the
// first, which alone has the transport header (RFC 791 3.1).
func (c *compiler) firstFragment() *condition {
	return not(compare(field(c.ip(), 6, SizeHalf), JumpAnyBit, 0x1fff))
}

// anyPort tests over both versions of IP.
func (c *compiler) anyPort(p ports, d direction, protocols []uint32) *condition {
	if p.low > p.high {
		p.low, p.high = p.high, p.low
	}
	return or(c.overIPv6().port(p, d, protocols), c.overIPv4().port(p, d, protocols))
}

// ipProtocol tests for a protocol in IPv4 packets.
func (c *compiler) ipProtocol(p uint32) *condition {
	return and(c.linkType(typeIPv4), c.overIPv4().protocol(p))
}

// ipv6Protocol tests for a protocol in IPv6 packets, also behind a fragment
// header.
func (c *compiler) ipv6Protocol(p uint32) *condition {
	t := c.overIPv6()
	return and(c.linkType(typeIPv6), or(t.protocol(p), and(t.protocol(protoFrag), compare(t.field(0, SizeByte), JumpEqual, p))))
}
