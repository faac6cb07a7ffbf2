package capture

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/wire/frame"
)

func packetOf(proto uint8, src, dst string, vlan uint16, payload int) *frame.Packet {
	s, d := netip.MustParseAddrPort(src), netip.MustParseAddrPort(dst)
	p := &frame.Packet{Src: frame.AddrFrom(s.Addr()), Dst: frame.AddrFrom(d.Addr()), SrcPort: s.Port(), DstPort: d.Port(),
		Proto: proto, IPVersion: 4, VLAN: vlan, Headers: 54, Payload: payload}
	if s.Addr().Is6() {
		p.IPVersion = 6
	}
	return p
}

func TestFilter(t *testing.T) {
	tcp := packetOf(frame.ProtoTCP, "192.168.1.4:20", "192.168.1.11:50000", 7, 1460)
	udp := packetOf(frame.ProtoUDP, "[2001:db8::1]:5001", "[2001:db8::2]:20", 0, 10)
	for s, want := range map[string][2]bool{
		"":                               {true, true},
		"tcp":                            {true, false},
		"host 192.168.1.4":               {true, false},
		"src host 192.168.1.11":          {false, false},
		"dst 192.168.1.11":               {true, false},
		"net 2001:db8::/32":              {false, true},
		"port 20":                        {true, true},
		"tcp port 20":                    {true, false},
		"udp dst port 20":                {false, true},
		"port 21 or 20":                  {true, true},
		"portrange 5000-5001":            {false, true},
		"not tcp and port 20":            {false, true},
		"!(tcp || udp)":                  {false, false},
		"ip && (port 1 or greater 1000)": {true, false},
		"ip6 and less 64":                {false, true},
		"vlan 7":                         {true, false},
		"vlan":                           {true, false},
		"not vlan":                       {false, true},
	} {
		f, err := CompileFilter(s)
		if err != nil {
			t.Errorf("%q: %v", s, err)
			continue
		}
		if f == nil {
			f = func(*frame.Packet) bool { return true }
		}
		if got := [2]bool{f(tcp), f(udp)}; got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
	for _, s := range []string{"(", "host", "host example.com", "tcp[13] & 2 != 0", "port http", "and", "tcp udp", "less", "not", "arp"} {
		if _, err := CompileFilter(s); err == nil || !strings.Contains(err.Error(), "filter") {
			t.Errorf("%q: error %v", s, err)
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add("tcp and (port 20 or 21) and not host 192.0.2.1")
	p := packetOf(frame.ProtoTCP, "192.168.1.4:20", "192.168.1.11:50000", 7, 1460)
	f.Fuzz(func(t *testing.T, s string) {
		if k, err := CompileFilter(s); err == nil && k != nil {
			k(p)
		}
	})
}
