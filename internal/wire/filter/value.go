package filter

import (
	"net/netip"
	"slices"
	"strings"
)

// value parses an address, number or name and tests for it as q says; want is
// what else may stand there.
func (p *parser) value(q qualifiers, want string) *condition {
	t := p.tok
	switch t.kind {
	case tokenNumber, tokenIPv4, tokenIPv6, tokenMAC, tokenName:
	case tokenWord:
		if reserved(t.text) {
			p.unexpected(want)
			return never
		}
	default:
		p.unexpected(want)
		return never
	}
	if !q.given {
		p.fail("%s needs a word before it that says what it is: host, net, port, proto...", &t)
		return never
	}
	p.advance()
	p.column = t.column
	switch t.kind {
	case tokenNumber:
		return p.plainNumber(q, t.number)
	case tokenIPv4:
		return p.ipv4(q, t)
	case tokenIPv6:
		return p.ipv6(q, t)
	case tokenMAC:
		if q.proto != protoLink || q.kind != kindDefault && q.kind != kindHost {
			return p.fail("an Ethernet address stands behind ether host, ether src or ether dst")
		}
		return p.macHost(q.dir, t.mac[:])
	}
	return p.named(q, t.text)
}

// plainNumber tests for a host's whole address, a network's first bytes, a port
// or a protocol.
func (p *parser) plainNumber(q qualifiers, v uint32) *condition {
	mask := uint32(0xffffffff)
	switch q.kind {
	case kindPort, kindPortrange:
		if v > 65535 {
			return p.fail("a port is at most 65535")
		}
		return p.portOf(q, ports{uint16(v), uint16(v)}, portProtocols)
	case kindProto:
		return p.protoOf(q, v)
	case kindNet: // RFC 950's classes are long gone: 10 is 10.0.0.0/8
		for v != 0 && v < 1<<24 {
			v, mask = v<<8, mask<<8
		}
	}
	return p.ipv4Host(q.proto, q.dir, v, mask)
}

// ipv4 tests for an address that may lack its last parts, or a network.
func (p *parser) ipv4(q qualifiers, t token) *condition {
	if q.kind >= kindPort {
		return p.fail("%s can't be an IPv4 address", q.kind)
	}
	short := 32 - 8*t.parts
	addr, mask := t.number<<short, uint32(0xffffffff)<<short
	explicit := false
	switch {
	case p.tok.is("/"):
		p.advance()
		bits := p.number(32)
		mask, explicit = uint32(0xffffffff)<<(32-bits), true
	case p.tok.is("mask"):
		p.advance()
		if p.tok.kind != tokenIPv4 {
			p.unexpected("a mask such as 255.255.255.0")
		}
		mask, explicit = p.tok.number<<(32-8*max(p.tok.parts, 1)), true
		p.advance()
	}
	p.column = t.column
	switch {
	case explicit && q.kind != kindNet:
		return p.fail("a mask stands behind net")
	case addr&^mask != 0:
		return p.fail("%s has bits set that its mask hasn't", t.text)
	}
	return p.ipv4Host(q.proto, q.dir, addr, mask)
}

func (p *parser) ipv6(q qualifiers, t token) *condition {
	if q.kind >= kindPort {
		return p.fail("%s can't be an IPv6 address", q.kind)
	}
	prefix := netip.PrefixFrom(t.ipv6, 128)
	if p.tok.is("/") {
		p.advance()
		prefix = netip.PrefixFrom(t.ipv6, int(p.number(128)))
	}
	p.column = t.column
	switch {
	case q.kind != kindNet && prefix.Bits() != 128:
		return p.fail("a prefix length stands behind net")
	case prefix != prefix.Masked():
		return p.fail("%s has bits set beyond its prefix length", t.text)
	}
	return p.ipv6Host(q.proto, q.dir, prefix)
}

// named tests for a port, a range of ports or a protocol by name.
func (p *parser) named(q qualifiers, name string) *condition {
	switch q.kind {
	case kindPort:
		if s, ok := services[name]; ok {
			return p.portOf(q, ports{s.port, s.port}, s.protocols())
		}
		return p.fail("unknown port %q: write its number", name)
	case kindPortrange:
		low, high, ok := strings.Cut(name, "-")
		a, over, ok1 := portNamed(low)
		b, over2, ok2 := portNamed(high)
		if !ok || !ok1 || !ok2 {
			return p.fail("%q is no range of ports such as 5201-5210", name)
		}
		if len(over) != len(over2) || len(over) == 1 && over[0] != over2[0] {
			over = portProtocols
		}
		return p.portOf(q, ports{a, b}, over)
	case kindProto:
		if v, ok := protocolNumber(q.proto, name); ok {
			return p.protoOf(q, v)
		}
		return p.fail("unknown protocol %q: write its number", name)
	}
	return p.fail("%q is a name, and a filter looks none up: write the address", name)
}

// portNamed returns a port by number or name, and which protocols have it.
func portNamed(s string) (uint16, []uint32, bool) {
	if digits(s) {
		v, err := parseNumber(s)
		return uint16(v), portProtocols, err == nil && v <= 65535
	}
	service, ok := services[s]
	return service.port, service.protocols(), ok
}

// portOf tests for ports of those protocols, or of the one that q names.
func (p *parser) portOf(q qualifiers, r ports, over []uint32) *condition {
	if q.proto != protoAny {
		id := protocols[q.proto].ids
		switch {
		case len(id) != 1 || !slices.Contains(portProtocols, id[0]):
			return p.fail("%s has no ports: tcp, udp and sctp have", q.proto)
		case len(over) == 1 && over[0] != id[0]:
			return p.fail("that port isn't one of %s", q.proto)
		}
		over = id
	}
	return p.anyPort(r, q.dir, over)
}

func (p *parser) protoOf(q qualifiers, v uint32) *condition {
	l := q.proto.layerOf()
	if l == layerNone {
		return p.fail("proto stands behind ether, ip, ip6, iso, isis or alone, not %s", q.proto)
	}
	return p.within(l, v)
}
