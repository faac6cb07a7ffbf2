package sa_test

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/sa"
	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/transform"
)

// TestOuterHeader checks what RFC 4301 5.1.2.1 wants of the header of a tunnel.
func TestOuterHeader(t *testing.T) {
	ef := uint8(46)
	for _, c := range []struct {
		name   string
		change func(*sa.Parameters)
		tos    byte
		df     bool
		want   uint16 // DSCP and ECN, then the DF bit
	}{
		{"copied", func(*sa.Parameters) {}, 0xba, true, 0xba01},
		{"no DF", func(*sa.Parameters) {}, 0x02, false, 0x0200},
		{"DF set", func(p *sa.Parameters) { p.DF = sa.SetDF }, 0, false, 0x0001},
		{"DF cleared", func(p *sa.Parameters) { p.DF = sa.ClearDF }, 0, true, 0},
		{"DSCP fixed, ECN copied", func(p *sa.Parameters) { p.DSCP = &ef }, 0x29, false, 0xb900},
		{"no ECN", func(p *sa.Parameters) { p.NoECN = true }, 0x2b, false, 0x2800},
	} {
		p := with("aes128gcm16")
		c.change(&p)
		out, _ := pair(t, p)
		plain := packet(false, 40, c.tos)
		if c.df {
			plain[6] = 0x40
			plain[10], plain[11] = 0, 0
			binary.BigEndian.PutUint16(plain[10:], ^checksum(plain[:20]))
		}
		b := protect(t, out, plain)
		if got := uint16(b[1])<<8 | uint16(b[6]>>6&1); got != c.want || b[8] != 64 || b[9] != 50 {
			t.Errorf("%s: TOS and DF %#04x, want %#04x; TTL %d, protocol %d", c.name, got, c.want, b[8], b[9])
		}
	}
	out, _ := pair(t, with("aes128gcm16"))
	if b := protect(t, out, packet(true, 40, 0x28)); b[1] != 0x28 || b[6]&0x40 == 0 {
		t.Errorf("IPv6 in IPv4: TOS %#x, flags %#x: want 0x28 and DF", b[1], b[6])
	}
}

// TestECN checks the table of RFC 6040 4.2.
func TestECN(t *testing.T) {
	const drop = 9
	table := [4][4]byte{ // inner: not-ECT, ECT(1), ECT(0), CE; outer the same
		{0, 0, 0, drop}, {1, 1, 1, 3}, {2, 1, 2, 3}, {3, 3, 3, 3},
	}
	for _, six := range []bool{false, true} {
		for inner := range byte(4) {
			for outer := range byte(4) {
				o, in := pair(t, with("chacha20poly1305"))
				b := protect(t, o, packet(six, 30, 0xb8|inner))
				b[1] = b[1]&^3 | outer
				got, why := open(in, b, 0)
				want := table[inner][outer]
				if want == drop {
					if why != sa.Congestion {
						t.Errorf("inner %d outer %d: %v", inner, outer, why)
					}
				} else if why != sa.OK || !bytes.Equal(got, packet(six, 30, 0xb8|want)) {
					t.Errorf("inner %d outer %d: %v, want ECN %d and a right checksum", inner, outer, why, want)
				}
			}
		}
	}
}

// TestRoom seals the longest packet that fits and refuses the next longer one.
func TestRoom(t *testing.T) {
	variants(func(name string, p sa.Parameters, six bool) {
		for mtu := 1490; mtu <= 1500; mtu++ {
			p.MTU = mtu
			out, _ := pair(t, p)
			header := 28
			if six {
				header = 48
			}
			if n := len(protect(t, out, packet(six, out.Room()-header, 0))); n > mtu || n < mtu-16 {
				t.Errorf("%s: the longest packet makes %d bytes of %d", name, n, mtu)
			}
			b, at, end := buffer(packet(six, out.Room()-header+1, 0))
			if _, _, why := out.Seal(&sa.Scratch{}, b, at, end); why != sa.TooBig {
				t.Errorf("%s: a byte more: %v", name, why)
			}
		}
	})
}

// TestStrangers are told apart from what is ours.
func TestStrangers(t *testing.T) {
	datagram := func(payload ...byte) []byte {
		b := packet(false, len(payload), 0)
		copy(b[28:], payload)
		binary.BigEndian.PutUint16(b[22:], 4500)
		return b
	}
	fragment := packet(false, 40, 0)
	fragment[6], fragment[9] = 0x20, 50
	huge := bytes.Clone(fragment)
	huge[6], huge[7] = 0x1f, 0xff // the last offset there is
	six := packet(true, 40, 0)
	six[6], six[40], six[41] = 44, 50, 0
	udp := packet(false, 40, 0)
	esp := packet(false, 40, 0)
	esp[9] = 50
	short := esp[:26]
	binary.BigEndian.PutUint16(short[2:], 26)
	for name, c := range map[string]struct {
		b    []byte
		want sa.Reason
	}{
		"UDP": {udp, sa.NotIPsec}, "keep-alive": {datagram(0xff), sa.KeepAlive}, "IKE": {datagram(0, 0, 0, 0, 1, 2, 3), sa.IKE},
		"fragment": {fragment, sa.Fragment}, "huge fragment": {huge, sa.Fragment}, "IPv6 fragment": {six, sa.Fragment},
		"short UDP": {datagram(1, 2), sa.Malformed}, "short ESP": {short, sa.Malformed}, "empty": {nil, sa.Malformed}, "zeros": {make([]byte, 60), sa.Malformed},
	} {
		if got, why := open(nil, c.b, 4500); why != c.want {
			t.Errorf("%s: %v %x, want %v", name, why, got, c.want)
		}
	}
}

// TestAuthenticNonsense opens packets of a peer that has the key and sends what
// it must not.
func TestAuthenticNonsense(t *testing.T) {
	p := with("null-sha256")
	s, _ := transform.Lookup(p.Suite)
	tr, err := s.New(p.Key, p.AuthKey)
	if err != nil {
		t.Fatal(err)
	}
	inner := packet(false, 20, 0)
	for name, c := range map[string]struct {
		payload []byte
		want    sa.Reason
	}{
		"dummy":             {[]byte{1, 2, 2, 59}, sa.Dummy},
		"padding too long":  {append(bytes.Clone(inner), 1, 2, 250, 4), sa.Padding},
		"padding not 1 2 3": {append(bytes.Clone(inner), 1, 7, 2, 4), sa.Padding},
		"TCP in a tunnel":   {append(bytes.Clone(inner), 1, 2, 2, 6), sa.NextHeader},
		"other version":     {append(bytes.Clone(inner), 1, 2, 2, 41), sa.NextHeader},
		"cut inside":        {append(bytes.Clone(inner[:28]), 1, 2, 2, 4), sa.NextHeader},
		"hidden length":     {append(append(bytes.Clone(inner), make([]byte, 96)...), 1, 2, 2, 4), sa.OK},
	} {
		_, in := pair(t, p)
		b := packet(false, 0, 0)[:20]
		b[9] = 50
		b = append(b, 0, 0, 0x10, 1, 0, 0, 0, 1)
		b = append(b, c.payload...)
		end := len(b)
		b = append(b, make([]byte, 16)...)
		tr.Seal(&transform.Scratch{}, b, 20, end, transform.Sequence{Number: 1})
		binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
		got, why := open(in, b, 0)
		if why != c.want || why == sa.OK && !bytes.Equal(got, inner) {
			t.Errorf("%s: %v, want %v", name, why, c.want)
		}
		if n := in.Status().Drops[c.want]; c.want != sa.OK && n != 1 {
			t.Errorf("%s: counted %d times", name, n)
		}
	}
}

// TestMismatch keeps associations in UDP apart from those that are not.
func TestMismatch(t *testing.T) {
	p := with("aes128gcm16")
	plain, _ := pair(t, p)
	p.Encap = sa.Encap{Source: 4500, Target: 4500}
	encap, _ := pair(t, p)
	if _, why := open(plain, protect(t, encap, packet(false, 40, 0)), 4500); why != sa.Mismatch {
		t.Errorf("in UDP: %v", why)
	}
	if _, why := open(encap, protect(t, plain, packet(false, 40, 0)), 4500); why != sa.Mismatch {
		t.Errorf("not in UDP: %v", why)
	}
	for _, bad := range []func(*sa.Parameters){
		func(p *sa.Parameters) { p.SPI = 7 }, func(p *sa.Parameters) { p.Key = key(16) }, func(p *sa.Parameters) { p.Suite = "des" },
		func(p *sa.Parameters) { p.Target = netip.MustParseAddr("::1") }, func(p *sa.Parameters) { p.Window = 5000 }, func(p *sa.Parameters) { p.Mode = "beet" },
	} {
		p := with("aes128gcm16")
		if bad(&p); true {
			if _, err := sa.New(p); err == nil {
				t.Errorf("%+v is taken", p)
			}
		}
	}
}

// TestNAT carries UDP in transport mode past a change of addresses: its checksum
// is right again at the end.
func TestNAT(t *testing.T) {
	p := with("aes128gcm16")
	p.Mode, p.Encap = sa.Transport, sa.Encap{Source: 4500, Target: 4500}
	out, in := pair(t, p)
	plain := packet(false, 40, 0)
	plain[26] = 1 // some checksum
	b := protect(t, out, plain)
	copy(b[12:], []byte{203, 0, 113, 9})
	got, why := open(in, b, 4500)
	if why != sa.OK {
		t.Fatal(why)
	}
	pseudo := append(bytes.Clone(got[12:20]), 0, 17, 0, byte(len(got)-20))
	if checksum(append(pseudo, got[20:]...)) != 0xffff || got[12] != 203 {
		t.Errorf("checksum of %x", got)
	}
}

// FuzzOpen gives anything to every association.
func FuzzOpen(f *testing.F) {
	var all []*sa.SA
	variants(func(_ string, p sa.Parameters, six bool) {
		out, in := pair(f, p)
		all = append(all, in)
		f.Add(protect(f, out, packet(six, 30, 0)))
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, in := range all {
			if got, why := open(in, b, 4500); why == sa.OK && len(got) < 20 {
				t.Errorf("%x opened", b)
			}
		}
		for _, out := range all[:8] {
			buf, at, end := buffer(b)
			out.Seal(&sa.Scratch{}, buf, at, end)
		}
	})
}

// TestNarrowPath believes what is said of a path for ten minutes, unless it is
// absurd.
func TestNarrowPath(t *testing.T) {
	out, _ := pair(t, with("aes128gcm16"))
	wide, now := out.Room(), time.Now()
	for _, c := range []struct {
		mtu  int
		news bool
		want int
	}{{1400, true, 1400}, {1450, false, 1400}, {1400, false, 1400}, {68, true, 576}} {
		if news := out.Narrow(c.mtu, now); news != c.news || out.PathMTU() != c.want {
			t.Errorf("%d: %v, path %d, want %v, %d", c.mtu, news, out.PathMTU(), c.news, c.want)
		}
	}
	b, at, end := buffer(packet(false, 600, 0))
	if _, _, why := out.Seal(&sa.Scratch{}, b, at, end); why != sa.TooBig {
		t.Errorf("628 bytes through 576: %v", why)
	}
	if out.Age(now.Add(9 * time.Minute)); out.PathMTU() != 576 {
		t.Error("forgotten after nine minutes")
	}
	if out.Age(now.Add(11 * time.Minute)); out.Room() != wide {
		t.Error("not forgotten after eleven minutes")
	}
}
