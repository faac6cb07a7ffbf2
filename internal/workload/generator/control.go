package generator

import (
	"encoding/binary"
	"net"
	"net/netip"
)

// Peers are the ends of a control frame.
type Peers struct {
	Source, Dest     net.HardwareAddr
	SourceIP, DestIP netip.Addr // IPv4
}

// ManagementQuery is an SNMP version 1 request for sysUpTime.0 of community
// public, for the first frame of each second (RFC 2544 section 11.2).
func ManagementQuery(p Peers) []byte {
	return p.datagram(161, []byte{
		0x30, 38, 2, 1, 0, 4, 6, 'p', 'u', 'b', 'l', 'i', 'c', // version, community
		0xa0, 25, 2, 1, 1, 2, 1, 0, 2, 1, 0, // GetRequest 1, no error
		0x30, 14, 0x30, 12, 6, 8, 0x2b, 6, 1, 2, 1, 1, 3, 0, 5, 0, // 1.3.6.1.2.1.1.3.0
	})
}

// RoutingUpdate is a RIP version 1 response (RFC 1058) that tells of the
// networks behind the tester, 25 at most (RFC 2544 section 11.3).
func RoutingUpdate(p Peers, networks []netip.Addr) []byte {
	b := []byte{2, 1, 0, 0}
	for _, n := range networks[:min(len(networks), 25)] {
		b = append(b, 0, 2, 0, 0)
		b = append(b, n.AsSlice()...)
		b = append(b, make([]byte, 8)...)
		b = append(b, 0, 0, 0, 1) // metric: a hop
	}
	return p.datagram(520, b)
}

// datagram makes a UDP frame between equal ports, without a checksum, as RFC
// 768 allows and test frames have it.
func (p Peers) datagram(port uint16, payload []byte) []byte {
	b := append(append([]byte(nil), p.Dest...), p.Source...)
	b = Profile{SourceIP: p.SourceIP, DestIP: p.DestIP, TTL: 64}.appendIP(b, 20+8+len(payload))
	b = binary.BigEndian.AppendUint16(b, port)
	b = binary.BigEndian.AppendUint16(b, port)
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(payload)))
	b = append(binary.BigEndian.AppendUint16(b, 0), payload...)
	return append(b, make([]byte, max(0, 60-len(b)))...)
}
