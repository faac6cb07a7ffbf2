package frame

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// Transport protocols (IANA protocol numbers).
const (
	ProtoICMP   = 1
	ProtoIPIP   = 4
	ProtoTCP    = 6
	ProtoUDP    = 17
	ProtoIPv6   = 41
	ProtoGRE    = 47
	ProtoICMPv6 = 58
)

// TCP flags (RFC 9293 3.1).
const (
	FIN = 1 << iota
	SYN
	RST
	PSH
	ACK
	URG
	ECE
	CWR
)

// Addr is an IP address; an IPv4 address is held as ::ffff:a.b.c.d. It compares
// faster than netip.Addr, which has a zone.
type Addr struct{ Hi, Lo uint64 }

// v4Prefix is the low half's head of an IPv4-mapped address (RFC 4291 2.5.5.2).
const v4Prefix = 0xffff << 32

// AddrFrom4 makes an Addr of an IPv4 address.
func AddrFrom4(a uint32) Addr { return Addr{0, v4Prefix | uint64(a)} }

// AddrFrom makes an Addr of a netip.Addr; the zone is dropped.
func AddrFrom(a netip.Addr) Addr { return addr16(a.As16()) }

func addr16(b [16]byte) Addr {
	return Addr{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// Netip converts a to the standard library's type.
func (a Addr) Netip() netip.Addr {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], a.Hi)
	binary.BigEndian.PutUint64(b[8:], a.Lo)
	return netip.AddrFrom16(b).Unmap()
}

// String formats a as netip does.
func (a Addr) String() string { return a.Netip().String() }

// Packet is what Decode found in a frame: the innermost IP packet that is not
// a fragment's tail, and the TCP or UDP header in it. Fields that the headers
// don't have are zero.
type Packet struct {
	Src, Dst         Addr
	SrcPort, DstPort uint16
	IPVersion        uint8 // 4 or 6, 0 where the frame carries no IP
	Proto            uint8
	TTL              uint8
	Flags            uint8  // TCP flags
	ID               uint16 // IPv4 identification
	VLAN             uint16 // outermost VLAN identifier, 0 where untagged
	EtherType        uint16
	Depth            uint8  // IP headers passed to reach this one: 1 without a tunnel
	Fragment         bool   // first fragment of more
	DontFragment     bool   // IPv4 flag
	Headers          int    // bytes of the frame before the payload
	Payload          int    // bytes of transport payload as sent, captured or not
	Data             []byte // transport payload as far as captured

	// TCP
	Seq, Ack uint32
	Window   uint16
	Options  Options

	// ICMP and ICMPv6
	ICMPType, ICMPCode uint8
	ICMPMTU            int // of "fragmentation needed" and "packet too big"
}

// Options are the TCP options that matter to an analysis.
type Options struct {
	Cut           bool // the record ends inside the options
	HasTimestamp  bool
	SACKPermitted bool
	HasScale      bool
	Scale         uint8  // RFC 7323 2.2
	MSS           uint16 // 0 where absent
	SACKs         uint8  // blocks in SACK
	TSval, TSecr  uint32
	SACK          [4][2]uint32
}

// Fault says why a frame has no transport header to analyse.
type Fault struct {
	Kind  FaultKind
	Value uint16 // ether type, protocol, link type or header
}

// FaultKind sorts faults.
type FaultKind uint8

// The kinds of Fault.
const (
	None FaultKind = iota
	UnknownLink
	UnknownEtherType
	UnknownProtocol
	CutShort
	LaterFragment
	Malformed
	TooDeep
)

// String names the fault with its number: "ether type 0x88cc".
func (f Fault) String() string {
	switch f.Kind {
	case None:
		return "decoded"
	case UnknownLink:
		return fmt.Sprintf("link type %d", f.Value)
	case UnknownEtherType:
		return fmt.Sprintf("ether type 0x%04x", f.Value)
	case UnknownProtocol:
		return fmt.Sprintf("IP protocol %d", f.Value)
	case CutShort:
		return "header cut by the snapshot length"
	case LaterFragment:
		return "fragment without its first part"
	case TooDeep:
		return "too many nested headers"
	}
	return "malformed header"
}
