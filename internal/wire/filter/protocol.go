package filter

import "github.com/linerate/linerate/internal/wire/frame"

// protocol is a word that qualifies a primitive, or is one alone.
type protocol uint8

const (
	protoAny protocol = iota // no word
	protoLink
	protoIP
	protoIP6
	protoARP
	protoRARP
	protoISO
	protoISIS
	protoNamed // the first of those with a row in protocols only
)

// layer says what the number of a protocol is looked for in.
type layer uint8

const (
	layerNone layer = iota
	layerLink       // ether type or service access point
	layerIP         // IPv4's protocol field
	layerIP6        // IPv6's next header
	layerBoth       // either
	layerISO        // network layer protocol ID (ISO/IEC TR 9577)
	layerISIS       // type of an IS-IS PDU (ISO/IEC 10589 9)
)

// protocols are the words, what they test for alone, and whether a bracket may
// follow; their index is the protocol.
var protocols = [...]struct {
	word  string
	layer layer
	ids   []uint32
	bytes bool
}{
	protoAny:   {},
	protoLink:  {"ether", layerNone, nil, true},
	protoIP:    {"ip", layerLink, []uint32{typeIPv4}, true},
	protoIP6:   {"ip6", layerLink, []uint32{typeIPv6}, true},
	protoARP:   {"arp", layerLink, []uint32{typeARP}, true},
	protoRARP:  {"rarp", layerLink, []uint32{typeRARP}, true},
	protoISO:   {"iso", layerLink, []uint32{sapISO}, false},
	protoISIS:  {"isis", layerISO, []uint32{isoISIS}, false},
	protoNamed: {"tcp", layerBoth, []uint32{protoTCP}, true},
	{"udp", layerBoth, []uint32{protoUDP}, true},
	{"sctp", layerBoth, []uint32{protoSCTP}, true},
	{"icmp", layerIP, []uint32{protoICMP}, true},
	{"icmp6", layerIP6, []uint32{protoICMPv6}, true},
	{"igmp", layerIP, []uint32{protoIGMP}, true},
	{"igrp", layerIP, []uint32{protoIGRP}, true},
	{"pim", layerBoth, []uint32{protoPIM}, true},
	{"vrrp", layerIP, []uint32{protoVRRP}, true},
	{"carp", layerIP, []uint32{protoVRRP}, true},
	{"ah", layerBoth, []uint32{protoAH}, false},
	{"esp", layerBoth, []uint32{protoESP}, false},
	{"atalk", layerLink, []uint32{typeAtalk}, true},
	{"aarp", layerLink, []uint32{typeAARP}, false},
	{"decnet", layerLink, []uint32{typeDecnet}, true},
	{"lat", layerLink, []uint32{0x6004}, true},
	{"sca", layerLink, []uint32{0x6007}, true},
	{"moprc", layerLink, []uint32{0x6002}, true},
	{"mopdl", layerLink, []uint32{0x6001}, true},
	{"stp", layerLink, []uint32{sapSTP}, false},
	{"ipx", layerLink, []uint32{sapIPX}, false},
	{"netbeui", layerLink, []uint32{sapNetBEUI}, false},
	{"clnp", layerISO, []uint32{0x81}, false},
	{"esis", layerISO, []uint32{0x82}, false},
	{"l1", layerISIS, []uint32{15, 17, 18, 24, 26}, false},
	{"l2", layerISIS, []uint32{16, 17, 20, 25, 27}, false},
	{"iih", layerISIS, []uint32{15, 16, 17}, false},
	{"lsp", layerISIS, []uint32{18, 20}, false},
	{"snp", layerISIS, []uint32{24, 25, 26, 27}, false},
	{"csnp", layerISIS, []uint32{24, 25}, false},
	{"psnp", layerISIS, []uint32{26, 27}, false},
}

const isoISIS = 0x83

func (p protocol) String() string { return protocols[p].word }

// protocolOf returns the protocol that a word stands for.
func protocolOf(word string) (protocol, bool) {
	switch word {
	case "":
		return 0, false
	case "link", "ppp", "slip", "fddi", "tr", "wlan":
		return protoLink, true
	case "is-is":
		return protoISIS, true
	case "es-is":
		word = "esis"
	}
	for i := range protocols {
		if protocols[i].word == word {
			return protocol(i), true
		}
	}
	return 0, false
}

// alone is the test that the word is by itself.
func (c *compiler) alone(p protocol) *condition {
	d := &protocols[p]
	if d.layer == layerNone {
		return c.fail("%s alone tests nothing: a qualifier (host, proto, src...) or [ must follow", p)
	}
	is := never
	for _, id := range d.ids {
		is = or(is, c.within(d.layer, id))
	}
	return is
}

// within tests for a protocol's number in a layer.
func (c *compiler) within(l layer, id uint32) *condition {
	if l != layerLink && id > 0xff {
		return c.fail("a protocol number is at most 255")
	}
	switch l {
	case layerLink:
		return c.linkType(id)
	case layerIP:
		return c.ipProtocol(id)
	case layerIP6:
		return c.ipv6Protocol(id)
	case layerBoth:
		return or(c.ipProtocol(id), c.ipv6Protocol(id))
	case layerISO:
		return and(c.linkType(sapISO), equal(c.iso(), 0, SizeByte, id))
	}
	if id > 31 {
		return c.fail("an IS-IS PDU type is at most 31")
	}
	return and(c.within(layerISO, isoISIS), masked(c.iso(), 4, SizeByte, id, 31))
}

// iso returns where an OSI network layer starts: behind the LLC header, which
// has no SNAP part there.
func (c *compiler) iso() offset {
	if c.link == frame.LinkEthernet {
		return c.payload.plus(3)
	}
	return c.payload
}

// layerOf returns where "PROTO proto N" looks for N.
func (p protocol) layerOf() layer {
	switch p {
	case protoAny:
		return layerBoth
	case protoLink:
		return layerLink
	case protoIP:
		return layerIP
	case protoIP6:
		return layerIP6
	case protoISO:
		return layerISO
	case protoISIS:
		return layerISIS
	}
	return layerNone
}
