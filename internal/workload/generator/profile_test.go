package generator

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/linerate/linerate/internal/wire/frame"
)

func isTest(b []byte) bool {
	return len(b) > 44 && (b[23] == 17 && b[12] == 8 || b[20] == 17 && b[12] == 0x86)
}

// verify checks a received frame as a stranger would, from the RFCs.
func verify(t *testing.T, b []byte, p Profile, n int) {
	t.Helper()
	udp := b[34:]
	if p.SourceIP.Is6() {
		udp = b[54:]
		pseudo := slices.Concat(b[22:54], []byte{0, 0, byte(len(udp) >> 8), byte(len(udp)), 0, 0, 0, 17})
		if s := sum16(uint32(sum16(0, pseudo)), udp); s != 0xffff {
			t.Fatalf("frame %d: UDP checksum off: sum %#04x\n%x", n, s, b)
		}
	} else if s := sum16(0, b[14:34]); s != 0xffff {
		t.Fatalf("frame %d: IPv4 header checksum off: sum %#04x\n%x", n, s, b[14:34])
	}
	s, ours, intact := frame.ParseSignature(udp[8:])
	if !ours || !intact || int(s.Flow) != n%p.Flows || int(s.Sequence) != n/p.Flows || s.Stamp == 0 {
		t.Fatalf("frame %d: %+v, ours %v, intact %v", n, s, ours, intact)
	}
	if got := int(binary.BigEndian.Uint16(udp)); got != int(p.port(uint16(n%p.Flows))) {
		t.Errorf("frame %d: source port %#x", n, got)
	}
	if len(b) != p.Sizes[n%len(p.Sizes)]-frame.FCS {
		t.Errorf("frame %d: %d bytes", n, len(b))
	}
	if v4 := int(binary.BigEndian.Uint16(b[16:])); !p.SourceIP.Is6() && v4 != len(b)-14 {
		t.Errorf("frame %d: total length %d of %d bytes", n, v4, len(b))
	}
	if l := int(binary.BigEndian.Uint16(udp[4:])); l != len(udp) {
		t.Errorf("frame %d: UDP length %d, want %d", n, l, len(udp))
	}
	dst, _ := netip.AddrFromSlice(b[30:34])
	if p.SourceIP.Is6() {
		dst, _ = netip.AddrFromSlice(b[38:54])
	}
	want := p.DestIP
	for range n % p.Flows % p.Hosts {
		want = want.Next()
	}
	if dst != want {
		t.Errorf("frame %d: to %v, want %v", n, dst, want)
	}
}

func TestProfileRefuses(t *testing.T) {
	good := Profile{Sizes: []int{64}, Source: make(net.HardwareAddr, 6), Dest: make(net.HardwareAddr, 6), Flows: 1,
		SourceIP: netip.MustParseAddr("198.18.1.2"), DestIP: netip.MustParseAddr("198.19.1.2")}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*Profile){
		"too short": func(p *Profile) { p.Sizes = []int{63} },
		"too long":  func(p *Profile) { p.Sizes = []int{9217} },
		"no size":   func(p *Profile) { p.Sizes = nil },
		"IPv6 in 64 bytes": func(p *Profile) {
			p.SourceIP, p.DestIP = netip.MustParseAddr("2001:2::1"), netip.MustParseAddr("2001:2::2")
		},
		"mixed versions":    func(p *Profile) { p.DestIP = netip.MustParseAddr("2001:2::2") },
		"three flows":       func(p *Profile) { p.Flows = 3 },
		"more hosts":        func(p *Profile) { p.Hosts = 2 },
		"no MAC":            func(p *Profile) { p.Dest = nil },
		"flow numbers wrap": func(p *Profile) { p.FirstFlow = MaxFlows },
		"impossible VLAN":   func(p *Profile) { p.VLAN = 4095 },
		"stamp in each 3rd": func(p *Profile) { p.StampEvery = 3 },
	} {
		p := good
		edit(&p)
		if p.check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
