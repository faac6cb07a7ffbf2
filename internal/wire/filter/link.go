package filter

import (
	"fmt"

	"github.com/linerate/linerate/internal/wire/frame"
)

// Ether types, LLC service access points and PPP protocols that the language
// has names for (IANA, IEEE 802, RFC 1661).
const (
	maxLength = 1500 // IEEE 802.3 3.2.6: a larger number is a type

	typeIPv4   = 0x0800
	typeARP    = 0x0806
	typeRARP   = 0x8035
	typeAARP   = 0x80f3
	typeAtalk  = 0x809b
	typeDecnet = 0x6003
	typeVLAN   = 0x8100
	typeIPX    = 0x8137
	typeIPv6   = 0x86dd
	typeMPLS   = 0x8847
	typePPPoED = 0x8863
	typePPPoES = 0x8864
	typeSTag   = 0x88a8
	typeQinQ   = 0x9100
	typeTEB    = 0x6558
	typeNS     = 0x0600

	sapIP      = 0x06
	sapSTP     = 0x42
	sapSNAP    = 0xaa
	sapIPX     = 0xe0
	sapNetBEUI = 0xf0
	sapISO     = 0xfe

	pppMPLS = 0x0281
)

// linkPPP is the link type that "pppoes" leads to.
const linkPPP = 9

// noRegister marks an offset without a part that is known only at run time.
const noRegister = -1

// offset is where a header starts: a constant and perhaps what a register holds.
type offset struct {
	base     uint32
	register int
}

// plus returns the offset n bytes on.
func (o offset) plus(n uint32) offset { return offset{o.base + n, o.register} }

// compiler generates tests. The offsets are where the headers of the packet
// start that the next test is about; vlan, mpls and tunnels move them.
type compiler struct {
	link     uint16
	header   offset // link-layer header
	typ      offset // its protocol field
	payload  offset // what follows it, LLC included
	network  uint32 // from payload to the network layer
	labels   int    // MPLS labels before it
	tunneled bool   // inside Geneve or VXLAN: perhaps without a link layer

	used       [Registers]bool
	persistent []uint32 // registers that hold offsets
	err        *Error
	column     int // of what is being compiled
}

// fail keeps the first error.
func (c *compiler) fail(format string, args ...any) *condition {
	if c.err == nil {
		c.err = &Error{c.column, fmt.Sprintf(format, args...)}
	}
	return never
}

// setLink sets the offsets of a link type.
func (c *compiler) setLink(link uint16) {
	c.link = link
	at := func(typ, payload uint32) {
		c.header, c.typ, c.payload = offset{0, noRegister}, offset{typ, noRegister}, offset{payload, noRegister}
	}
	switch link {
	case frame.LinkEthernet:
		at(12, 14)
	case frame.LinkSLL:
		at(14, 16)
	case frame.LinkSLL2:
		at(0, 20)
	case frame.LinkNull, frame.LinkLoop:
		at(0, 4)
	case frame.LinkRaw, frame.LinkRawBSD, frame.LinkRawBSD2, frame.LinkIPv4, frame.LinkIPv6:
		at(0, 0)
	default:
		c.column = 1
		c.fail("link type %d has no filters here: Ethernet, Linux cooked, raw IP and BSD loopback have", link)
	}
}

// linkType tests for an ether type, or a service access point where p is at
// most maxLength.
func (c *compiler) linkType(p uint32) *condition {
	if p > 0xffff {
		return c.fail("an ether type is at most 0xffff")
	}
	if c.labels > 0 {
		return c.underMPLS(p)
	}
	switch c.link {
	case frame.LinkEthernet:
		return c.etherType(p, atMost(c.typ, 0, SizeHalf, maxLength))
	case frame.LinkSLL:
		return c.etherType(p, equal(c.typ, 0, SizeHalf, 0x0004)) // LINUX_SLL_P_802_2
	case frame.LinkNull:
		return or(c.family(p, false), c.family(p, true))
	case frame.LinkLoop:
		return c.family(p, false)
	case frame.LinkRaw, frame.LinkRawBSD, frame.LinkRawBSD2:
		switch p {
		case typeIPv4:
			return version(c.header, 4)
		case typeIPv6:
			return version(c.header, 6)
		}
		return never
	case frame.LinkIPv4, frame.LinkIPv6:
		if p == typeIPv4 && c.link == frame.LinkIPv4 || p == typeIPv6 && c.link == frame.LinkIPv6 {
			return always
		}
		return never
	case linkPPP:
		return equal(c.typ, 0, SizeHalf, pppProtocol(p))
	}
	return equal(c.typ, 0, SizeHalf, p)
}

// etherType tests the type field of Ethernet or a cooked capture; framed tests
// for IEEE 802.3 frames, whose protocol stands in an LLC header.
func (c *compiler) etherType(p uint32, framed *condition) *condition {
	snap := func(organization, p uint32) *condition {
		return octets(c.payload, 0, []byte{sapSNAP, sapSNAP, 3, byte(organization >> 16), byte(organization >> 8), byte(organization), byte(p >> 8), byte(p)})
	}
	switch p {
	case sapISO, sapIP, sapNetBEUI:
		return and(framed, equal(c.payload, 0, SizeHalf, p<<8|p))
	case sapIPX: // four encapsulations
		llc := equal(c.payload, 0, SizeByte, sapIPX)
		if c.link == frame.LinkSLL { // 802.3 without LLC has a type of its own
			return or(equal(c.typ, 0, SizeHalf, typeIPX), or(equal(c.typ, 0, SizeHalf, 0x0001), and(framed, or(llc, snap(0, typeIPX)))))
		}
		raw := equal(c.payload, 0, SizeHalf, 0xffff)
		return or(equal(c.typ, 0, SizeHalf, typeIPX), and(framed, or(snap(0, typeIPX), or(llc, raw))))
	case typeAtalk:
		return or(equal(c.typ, 0, SizeHalf, p), and(framed, snap(0x080007, p)))
	case typeAARP:
		return or(equal(c.typ, 0, SizeHalf, p), and(framed, snap(0, p)))
	}
	if p > maxLength {
		return equal(c.typ, 0, SizeHalf, p)
	}
	if p > 0xff {
		return c.fail("an LLC service access point is at most 0xff")
	}
	return and(framed, equal(c.payload, 0, SizeByte, p))
}

// family tests the address family of BSD's loopback header, whose number for
// IPv6 depends on the system: NetBSD and OpenBSD, FreeBSD, macOS.
func (c *compiler) family(p uint32, swapped bool) *condition {
	is := func(v uint32) *condition {
		if swapped {
			v <<= 24
		}
		return equal(c.typ, 0, SizeWord, v)
	}
	switch p {
	case typeIPv4:
		return is(2)
	case typeIPv6:
		return or(is(30), or(is(24), is(28)))
	}
	return never
}

// pppProtocol returns the PPP protocol number of an ether type (RFC 1661 2).
func pppProtocol(p uint32) uint32 {
	switch p {
	case typeIPv4:
		return 0x0021
	case typeIPv6:
		return 0x0057
	case typeDecnet:
		return 0x0027
	case typeAtalk:
		return 0x0029
	case typeNS:
		return 0x0025
	case sapISO:
		return 0x0023
	case sapSTP:
		return 0x0031
	case sapIPX:
		return 0x002b
	}
	return p
}

// underMPLS tests the IP version behind the last label of the stack.
func (c *compiler) underMPLS(p uint32) *condition {
	switch p {
	case typeIPv4:
		return and(c.lastLabel(), version(c.ip(), 4))
	case typeIPv6:
		return and(c.lastLabel(), version(c.ip(), 6))
	}
	return c.fail("only ip and ip6 can be told behind MPLS labels, which carry no protocol number")
}
