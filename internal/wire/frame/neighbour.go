package frame

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
)

// Neighbour is an address resolution message: ARP (RFC 826) for IPv4,
// neighbour solicitation and advertisement (RFC 4861 4.3, 4.4) for IPv6.
type Neighbour struct {
	Reply  bool
	MAC    net.HardwareAddr // of the sender
	Sender netip.Addr       // whose MAC it is, in a reply
	Target netip.Addr       // who is asked for, or the address of who asked, in a reply
}

const (
	typeARP   = 0x0806
	icmp6     = 58
	solicit   = 135
	advertise = 136
	optionMAC = 8 // bytes of a link-layer address option
)

// Request makes the frame that asks who has target.
func Request(mac net.HardwareAddr, from, target netip.Addr) []byte {
	if target.Is4() {
		return arp(1, bytes.Repeat([]byte{0xff}, 6), mac, from, make([]byte, 6), target)
	}
	t := target.As16()
	group := [16]byte{0: 0xff, 1: 2, 11: 1, 12: 0xff, 13: t[13], 14: t[14], 15: t[15]} // RFC 4291 2.7.1
	return nd(solicit, append([]byte{0x33, 0x33}, group[12:]...), mac, from, netip.AddrFrom16(group), target)
}

// Answer makes the reply to n that says who has the address asked for.
func (n Neighbour) Answer(mac net.HardwareAddr) []byte {
	if n.Target.Is4() {
		return arp(2, n.MAC, mac, n.Target, n.MAC, n.Sender)
	}
	return nd(advertise, n.MAC, mac, n.Target, n.Sender, n.Target)
}

// ParseNeighbour reads an Ethernet frame without VLAN tag; ok is false for
// anything else than address resolution.
func ParseNeighbour(b []byte) (n Neighbour, ok bool) {
	if len(b) < HeaderBytes {
		return n, false
	}
	switch binary.BigEndian.Uint16(b[12:]) {
	case typeARP:
		return parseARP(b[HeaderBytes:])
	case typeIPv6:
		return parseND(b[HeaderBytes:])
	}
	return n, false
}

func arp(op byte, to, mac net.HardwareAddr, sender netip.Addr, targetMAC []byte, target netip.Addr) []byte {
	b := append(append([]byte(nil), to...), mac...)
	b = append(b, typeARP>>8, typeARP&0xff, 0, 1, 8, 0, 6, 4, 0, op)
	b = append(append(b, mac...), sender.AsSlice()...)
	b = append(append(b, targetMAC...), target.AsSlice()...)
	return append(b, make([]byte, MinFrame-FCS-len(b))...)
}

func parseARP(b []byte) (n Neighbour, ok bool) {
	if len(b) < 28 || !bytes.Equal(b[:6], []byte{0, 1, 8, 0, 6, 4}) {
		return n, false
	}
	op := binary.BigEndian.Uint16(b[6:])
	n.Reply = op == 2
	n.MAC = bytes.Clone(b[8:14])
	n.Sender = netip.AddrFrom4([4]byte(b[14:18]))
	n.Target = netip.AddrFrom4([4]byte(b[24:28]))
	return n, op == 1 || op == 2
}

// nd makes a solicitation or advertisement with the sender's link-layer
// address, hop limit 255 (RFC 4861 7.1.1).
func nd(kind byte, to, mac net.HardwareAddr, src, dst, target netip.Addr) []byte {
	flags := byte(0)
	option := byte(1) // source link-layer address
	if kind == advertise {
		flags, option = 0x60, 2 // solicited, override; target link-layer address
	}
	b := append(append([]byte(nil), to...), mac...)
	b = append(b, typeIPv6>>8, typeIPv6&0xff, 0x60, 0, 0, 0, 0, 24+optionMAC, icmp6, 255)
	b = append(append(b, src.AsSlice()...), dst.AsSlice()...)
	at := len(b)
	b = append(b, kind, 0, 0, 0, flags, 0, 0, 0)
	b = append(append(b, target.AsSlice()...), option, 1)
	b = append(b, mac...)
	sum := uint32(icmp6 + len(b) - at)
	for i := at - 32; i < len(b); i += 2 { // pseudo-header addresses and message, RFC 8200 8.1
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(b[at+2:], ^uint16(sum))
	return b
}

func parseND(b []byte) (n Neighbour, ok bool) {
	if len(b) < 40+24+optionMAC || b[6] != icmp6 || b[7] != 255 {
		return n, false
	}
	m := b[40:]
	n.Reply = m[0] == advertise
	n.Sender = netip.AddrFrom16([16]byte(b[8:24]))
	n.Target = netip.AddrFrom16([16]byte(m[8:24]))
	if n.Reply {
		n.Sender, n.Target = n.Target, netip.AddrFrom16([16]byte(b[24:40]))
	}
	n.MAC = bytes.Clone(m[26:32])
	return n, (m[0] == solicit && m[24] == 1 || m[0] == advertise && m[24] == 2) && m[25] == 1
}
