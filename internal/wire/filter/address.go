package filter

import (
	"encoding/binary"
	"net/netip"

	"github.com/linerate/linerate/internal/wire/frame"
)

// ipv4Host tests for an IPv4 address under a mask, in IP, ARP and RARP or in
// one of them.
func (c *compiler) ipv4Host(p protocol, d direction, addr, mask uint32) *condition {
	at := func(typ, source, destination uint32) *condition {
		o := c.ip()
		link := c.linkType(typ)
		return and(link, d.of(masked(o, source, SizeWord, addr, mask), masked(o, destination, SizeWord, addr, mask)))
	}
	switch p {
	case protoAny:
		is := at(typeIPv4, 12, 16)
		if c.labels > 0 {
			return is
		}
		return or(or(is, at(typeARP, 14, 24)), at(typeRARP, 14, 24))
	case protoIP:
		return at(typeIPv4, 12, 16)
	case protoARP:
		return at(typeARP, 14, 24) // sender and target protocol address (RFC 826)
	case protoRARP:
		return at(typeRARP, 14, 24)
	}
	return c.fail("an IPv4 address stands behind ip, arp or rarp, not %s", p)
}

// ipv6Host tests for the first bits of an IPv6 address.
func (c *compiler) ipv6Host(p protocol, d direction, prefix netip.Prefix) *condition {
	if p != protoAny && p != protoIP6 {
		return c.fail("an IPv6 address stands behind ip6, not %s", p)
	}
	addr := prefix.Addr().As16()
	at := func(k uint32) *condition {
		is := always
		for i := range 4 {
			bits := min(max(prefix.Bits()-32*i, 0), 32)
			mask := uint32(0xffffffff) << (32 - bits)
			is = and(is, masked(c.ip(), k+4*uint32(i), SizeWord, binary.BigEndian.Uint32(addr[4*i:]), mask))
		}
		return is
	}
	return and(c.linkType(typeIPv6), d.of(at(8), at(24)))
}

// macHost tests for an Ethernet address.
func (c *compiler) macHost(d direction, mac []byte) *condition {
	if c.link != frame.LinkEthernet {
		return c.fail("an Ethernet address needs Ethernet frames")
	}
	return and(c.ethernetInside(), d.of(octets(c.header, 6, mac), octets(c.header, 0, mac)))
}

func (c *compiler) broadcast(p protocol) *condition {
	switch p {
	case protoAny, protoLink:
		return c.macHost(toDestination, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	case protoIP:
		// Without a netmask, which a capture doesn't have, libpcap's mask is 0:
		// all bits of the address are the host's.
		return and(c.linkType(typeIPv4), or(equal(c.ip(), 16, SizeWord, 0), equal(c.ip(), 16, SizeWord, 0xffffffff)))
	}
	return c.fail("broadcast stands behind ether or ip, not %s", p)
}

func (c *compiler) multicast(p protocol) *condition {
	switch p {
	case protoAny, protoLink:
		if c.link != frame.LinkEthernet {
			return c.fail("multicast needs Ethernet frames; ip multicast and ip6 multicast do not")
		}
		return and(c.ethernetInside(), compare(field(c.header, 0, SizeByte), JumpAnyBit, 1))
	case protoIP:
		return and(c.linkType(typeIPv4), compare(field(c.ip(), 16, SizeByte), JumpAtLeast, 224))
	case protoIP6:
		return and(c.linkType(typeIPv6), equal(c.ip(), 24, SizeByte, 0xff))
	}
	return c.fail("multicast stands behind ether, ip or ip6, not %s", p)
}

// outbound tests for what the capturing host sent, which cooked captures say.
func (c *compiler) outbound(word string) *condition {
	const sent = 4 // PACKET_OUTGOING
	switch c.link {
	case frame.LinkSLL:
		return equal(c.header, 0, SizeHalf, sent)
	case frame.LinkSLL2:
		return equal(c.header, 10, SizeByte, sent)
	}
	return c.fail("%s needs a Linux cooked capture, which notes the direction", word)
}
