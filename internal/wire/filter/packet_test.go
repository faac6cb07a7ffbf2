package filter

import (
	"encoding/binary"
	"net/netip"
)

// etherFrames makes Ethernet frames of every kind that an expression tells
// apart.
func etherFrames() []packet {
	var out []packet
	add := func(name string, b []byte) { out = append(out, packet{name, b, len(b)}) }
	hosts := [][2]string{{"10.0.0.1", "10.0.0.2"}, {"10.0.0.2", "10.0.0.1"}, {"192.168.1.7", "224.0.0.5"}, {"172.16.3.4", "255.255.255.255"}}
	hosts6 := [][2]string{{"2001:db8::1", "2001:db8::2"}, {"fe80::1", "ff02::1"}, {"2001:db8:1::2", "2001:db8::1"}}
	segments := []struct {
		name  string
		proto byte
		b     []byte
	}{
		{"tcp syn 80", 6, tcp(40000, 80, 0x02, 0)}, {"tcp ack 443", 6, tcp(443, 50000, 0x10, 9)}, {"tcp fin ssh", 6, tcp(22, 40001, 0x11, 3)},
		{"tcp rst equal ports", 6, tcp(80, 80, 0x04, 0)}, {"udp dns", 17, udp(53, 1053, 40)}, {"udp dns query", 17, udp(2000, 53, 20)},
		{"udp 5201-5210", 17, udp(5205, 5201, 500)}, {"sctp", 132, udp(80, 5000, 20)}, {"icmp echo", 1, []byte{8, 0, 0, 0, 0, 1, 0, 1, 1, 2, 3, 4}},
		{"icmp reply", 1, []byte{0, 0, 0, 0, 0, 1, 0, 1, 1, 2, 3, 4}}, {"icmp unreachable", 1, []byte{3, 4, 0, 0, 0, 0, 5, 0xdc, 0x45, 0, 0, 20}},
		{"icmp6 echo", 58, []byte{128, 0, 0, 0, 0, 1, 0, 1}}, {"icmp6 solicit", 58, append([]byte{135, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 16)...)},
		{"esp", 50, make([]byte, 32)}, {"ah", 51, append([]byte{6, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3, 4}, tcp(1, 80, 2, 0)...)},
		{"igmp", 2, []byte{0x16, 0, 0, 0, 224, 0, 0, 5}}, {"vrrp", 112, make([]byte, 12)}, {"pim", 103, make([]byte, 12)}, {"gre", 47, []byte{0, 0, 8, 0, 0x45}},
	}
	for i, s := range segments {
		h, h6 := hosts[i%len(hosts)], hosts6[i%len(hosts6)]
		add(s.name+" v4", ether(typeIPv4, ipv4(h, s.proto, 0, 0, s.b)))
		add(s.name+" v4 options", ether(typeIPv4, ipv4(h, s.proto, 0x2000, 2, s.b)))
		add(s.name+" v4 later fragment", ether(typeIPv4, ipv4(h, s.proto, 100, 0, s.b)))
		add(s.name+" v6", ether(typeIPv6, ipv6(h6, s.proto, s.b)))
		add(s.name+" v6 fragment", ether(typeIPv6, ipv6(h6, 44, append([]byte{s.proto, 0, 0, 1, 0, 0, 0, 9}, s.b...))))
		add(s.name+" v6 hop by hop", ether(typeIPv6, ipv6(h6, 0, append([]byte{s.proto, 0, 1, 4, 0, 0, 0, 0}, s.b...))))
	}
	web := ipv4(hosts[0], 6, 0, 0, tcp(40000, 80, 0x18, 30))
	web6 := ipv6(hosts6[0], 6, tcp(40000, 80, 0x18, 30))
	for _, k := range []struct {
		name string
		typ  uint16
		b    []byte
	}{
		{"IPv4", typeIPv4, web}, {"IPv6", typeIPv6, web6}, {"ARP", typeARP, arp(1, "10.0.0.1", "10.0.0.2")}, {"RARP", typeRARP, arp(3, "10.0.0.2", "10.0.0.9")},
		{"PPPoE discovery", typePPPoED, []byte{0x11, 9, 0, 0, 0, 0}},
		{"PPPoE session", typePPPoES, append([]byte{0x11, 0, 0, 7, 0, byte(len(web) + 2), 0, 0x21}, web...)},
		{"PPPoE session v6", typePPPoES, append([]byte{0x11, 0, 0, 8, 0, byte(len(web6) + 2), 0, 0x57}, web6...)},
		{"PPPoE LCP", typePPPoES, []byte{0x11, 0, 0, 7, 0, 4, 0xc0, 0x21, 1, 1}},
		{"MPLS", typeMPLS, append([]byte{0, 0x01, 0x01, 64}, web...)}, {"MPLS v6", typeMPLS, append([]byte{0, 0x06, 0x41, 64}, web6...)},
		{"MPLS twice", typeMPLS, append([]byte{0, 0x06, 0x40, 64, 0, 0x40, 0x01, 64}, web...)},
		{"LLDP", 0x88cc, make([]byte, 40)}, {"AppleTalk", typeAtalk, make([]byte, 20)}, {"AARP", typeAARP, make([]byte, 20)}, {"DECnet", typeDecnet, make([]byte, 20)},
		{"LAT", 0x6004, make([]byte, 20)}, {"IPX II", typeIPX, make([]byte, 30)}, {"spanning tree", 38, append([]byte{0x42, 0x42, 3}, make([]byte, 35)...)},
		{"IPX 802.3", 30, append([]byte{0xff, 0xff}, make([]byte, 28)...)}, {"IPX 802.2", 30, append([]byte{0xe0, 0xe0, 3}, make([]byte, 27)...)},
		{"IPX SNAP", 40, append([]byte{0xaa, 0xaa, 3, 0, 0, 0, 0x81, 0x37}, make([]byte, 30)...)}, {"NetBEUI", 30, append([]byte{0xf0, 0xf0, 3}, make([]byte, 27)...)},
		{"IS-IS hello", 40, append([]byte{0xfe, 0xfe, 3, 0x83, 20, 1, 0, 15}, make([]byte, 32)...)}, {"IS-IS L2 LSP", 40, append([]byte{0xfe, 0xfe, 3, 0x83, 20, 1, 0, 20}, make([]byte, 32)...)},
		{"ES-IS", 40, append([]byte{0xfe, 0xfe, 3, 0x82, 20, 1, 0, 20}, make([]byte, 32)...)}, {"CLNP", 40, append([]byte{0xfe, 0xfe, 3, 0x81, 20, 1, 0, 20}, make([]byte, 32)...)},
		{"AARP SNAP", 40, append([]byte{0xaa, 0xaa, 3, 0, 0, 0, 0x80, 0xf3}, make([]byte, 32)...)}, {"AppleTalk SNAP", 40, append([]byte{0xaa, 0xaa, 3, 8, 0, 7, 0x80, 0x9b}, make([]byte, 32)...)},
	} {
		add(k.name, ether(k.typ, k.b))
		tagged := append(binary.BigEndian.AppendUint16([]byte{0x20, 100}, k.typ), k.b...)
		add(k.name+" in VLAN 100", ether(typeVLAN, tagged))
		double := append(binary.BigEndian.AppendUint16([]byte{0, 200}, typeVLAN), tagged...)
		add(k.name+" in VLAN 200.100", ether([]uint16{typeSTag, typeQinQ}[len(k.name)%2], double))
	}
	inner := ether(typeIPv4, ipv4([2]string{"172.31.0.1", "172.31.0.2"}, 17, 0, 0, udp(7000, 53, 30)))
	for _, k := range []struct {
		name    string
		port    uint16
		payload []byte
	}{
		{"Geneve", 6081, append([]byte{0, 0, 0x65, 0x58, 0, 0, 42, 0}, inner...)},
		{"Geneve with options", 6081, append([]byte{1, 0, 0x65, 0x58, 0, 1, 0, 0, 1, 2, 3, 4}, inner...)},
		{"Geneve with bare IP", 6081, append([]byte{0, 0, 8, 0, 0, 0, 42, 0}, inner[14:]...)},
		{"Geneve version 1", 6081, append([]byte{0x40, 0, 0x65, 0x58, 0, 0, 42, 0}, inner...)},
		{"VXLAN", 4789, append([]byte{8, 0, 0, 0, 0, 0, 42, 0}, inner...)},
	} {
		b := append(udp(50000, k.port, 0), k.payload...)
		add(k.name, ether(typeIPv4, ipv4(hosts[0], 17, 0, 0, b)))
		add(k.name+" v6", ether(typeIPv6, ipv6(hosts6[0], 17, b)))
		add(k.name+" options", ether(typeIPv4, ipv4(hosts[1], 17, 0, 1, b)))
	}
	broadcast := ether(typeARP, arp(1, "192.168.1.7", "192.168.1.1"))
	copy(broadcast, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	add("ARP broadcast", broadcast)
	multicast := ether(typeIPv4, ipv4(hosts[2], 17, 0, 0, udp(5353, 5353, 60)))
	copy(multicast, []byte{1, 0, 0x5e, 0, 0, 5})
	add("multicast", multicast)
	return out
}

func ether(typ uint16, payload []byte) []byte {
	b := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}
	return append(binary.BigEndian.AppendUint16(b, typ), payload...)
}

// ipv4 makes a packet; fragment is the field with flags and offset, options
// that many words.
func ipv4(hosts [2]string, proto byte, fragment uint16, options int, payload []byte) []byte {
	b := []byte{byte(0x45 + options), 0, 0, 0, 0, 1, 0, 0, 64, proto, 0, 0}
	binary.BigEndian.PutUint16(b[2:], uint16(20+4*options+len(payload)))
	binary.BigEndian.PutUint16(b[6:], fragment)
	for _, h := range hosts {
		b = append(b, netip.MustParseAddr(h).AsSlice()...)
	}
	for range 4 * options {
		b = append(b, 1)
	}
	return append(b, payload...)
}

func ipv6(hosts [2]string, next byte, payload []byte) []byte {
	b := []byte{0x60, 0, 0, 0, byte(len(payload) >> 8), byte(len(payload)), next, 64}
	for _, h := range hosts {
		b = append(b, netip.MustParseAddr(h).AsSlice()...)
	}
	return append(b, payload...)
}

func tcp(src, dst uint16, flags byte, payload int) []byte {
	b := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, src), dst)
	b = append(b, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0)
	return append(b, "GET / HTTP/1.1\r\nHost: example\r\n"[:payload]...)
}

func udp(src, dst uint16, payload int) []byte {
	b := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, src), dst)
	b = append(binary.BigEndian.AppendUint16(b, uint16(8+payload)), 0, 0)
	return append(b, make([]byte, payload)...)
}

func arp(operation byte, sender, target string) []byte {
	b := []byte{0, 1, 8, 0, 6, 4, 0, operation, 2, 0, 0, 0, 0, 1}
	b = append(append(b, netip.MustParseAddr(sender).AsSlice()...), 2, 0, 0, 0, 0, 2)
	return append(b, netip.MustParseAddr(target).AsSlice()...)
}
