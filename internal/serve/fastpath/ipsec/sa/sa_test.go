package sa_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/sa"
	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/transform"
)

var orders = flag.Int("orders", 300_000, "sequence numbers of the anti-replay test")

// key returns n bytes that count up.
func key(n int) transform.Key {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + 1)
	}
	return transform.NewKey(b)
}

// with returns ESP or AH parameters of a suite between two IPv4 hosts.
func with(suite string) sa.Parameters {
	p := sa.Parameters{SPI: 0x1001, Suite: suite, Source: netip.MustParseAddr("198.18.0.1"), Target: netip.MustParseAddr("198.18.0.2")}
	if s, err := transform.Lookup(suite); err == nil {
		p.Key, p.AuthKey = key(s.Key), key(s.AuthKey)
	} else {
		p.Protocol = sa.AH
		p.AuthKey = key(map[string]int{"sha1": 20, "sha256": 32, "sha384": 48, "sha512": 64}[suite])
	}
	return p
}

func pair(t testing.TB, p sa.Parameters) (out, in *sa.SA) {
	t.Helper()
	var err error
	if out, err = sa.New(p); err != nil {
		t.Fatal(err)
	}
	if in, err = sa.New(p); err != nil {
		t.Fatal(err)
	}
	return out, in
}

// packet makes an IPv4 or IPv6 UDP packet with n bytes behind the UDP header.
func packet(six bool, n int, tos byte) []byte {
	udp := make([]byte, 8+n)
	binary.BigEndian.PutUint16(udp, 7000)
	binary.BigEndian.PutUint16(udp[2:], 7001)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	for i := range n {
		udp[8+i] = byte(i)
	}
	if six {
		b := make([]byte, 40)
		b[0], b[1] = 0x60|tos>>4, tos<<4
		binary.BigEndian.PutUint16(b[4:], uint16(len(udp)))
		b[6], b[7], b[8], b[24], b[39] = 17, 64, 0xfd, 0xfd, 2
		return append(b, udp...)
	}
	b := make([]byte, 20)
	b[0], b[1], b[8], b[9] = 0x45, tos, 64, 17
	binary.BigEndian.PutUint16(b[2:], uint16(20+len(udp)))
	copy(b[12:], []byte{10, 1, 0, 2, 10, 2, 0, 2})
	binary.BigEndian.PutUint16(b[10:], ^checksum(b))
	return append(b, udp...)
}

func checksum(b []byte) uint16 {
	var s uint32
	for i := 0; i+1 < len(b); i += 2 {
		s += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for s > 0xffff {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}

// buffer puts a packet where Seal wants it.
func buffer(p []byte) (b []byte, at, end int) {
	b = append(make([]byte, sa.Headroom), p...)
	return append(b, make([]byte, sa.Tailroom)...), sa.Headroom, sa.Headroom + len(p)
}

// protect seals p and wants that to work.
func protect(t testing.TB, s *sa.SA, p []byte) []byte {
	t.Helper()
	b, at, end := buffer(p)
	from, to, why := s.Seal(&sa.Scratch{}, b, at, end)
	if why != sa.OK {
		t.Fatalf("seal: %v", why)
	}
	return b[from:to]
}

// open opens a sealed packet.
func open(s *sa.SA, p []byte, port uint16) ([]byte, sa.Reason) {
	b, at, end := buffer(p)
	l, why := sa.Locate(b, at, end, port)
	if why != sa.OK {
		return nil, why
	}
	from, to, why := s.Open(&sa.Scratch{}, b, l)
	return b[from:to], why
}

// variants are all ways to carry a packet: suites, modes, families, UDP, ESN.
func variants(each func(name string, p sa.Parameters, six bool)) {
	for _, suite := range append(transform.Names(), "sha1", "sha256", "sha384", "sha512") {
		for _, mode := range []string{sa.Tunnel, sa.Transport} {
			for _, outer6 := range []bool{false, true} {
				for _, inner6 := range []bool{false, true} {
					for kind := range 4 {
						p := with(suite)
						p.Mode, p.ESN = mode, kind&1 == 1
						if outer6 {
							p.Source, p.Target = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
						}
						if kind&2 == 2 {
							p.Encap = sa.Encap{Source: 4500, Target: 4500}
						}
						if mode == sa.Transport && outer6 != inner6 || p.Protocol == sa.AH && kind&2 == 2 {
							continue
						}
						each(fmt.Sprintf("%s %s outer6=%v inner6=%v esn=%v udp=%v", suite, mode, outer6, inner6, kind&1 == 1, kind&2 == 2), p, inner6)
					}
				}
			}
		}
	}
}

// TestEveryVariant carries packets of many lengths through every variant; each
// comes out as it went in, only once, and not if a bit of it flipped.
func TestEveryVariant(t *testing.T) {
	variants(func(name string, p sa.Parameters, six bool) {
		out, in := pair(t, p)
		for n := range 70 {
			plain := packet(six, n, 0xb8)
			sealed := protect(t, out, plain)
			if sealed[0]>>4 == 4 && checksum(sealed[:20]) != 0xffff {
				t.Fatalf("%s: wrong IPv4 checksum", name)
			}
			got, why := open(in, sealed, 4500)
			if why != sa.OK || !bytes.Equal(got, plain) {
				t.Fatalf("%s: %d bytes come out as %v\n%x, want\n%x", name, n, why, got, plain)
			}
			if _, why := open(in, sealed, 4500); why != sa.Replayed {
				t.Fatalf("%s: the same again is %v", name, why)
			}
		}
		sealed := protect(t, out, packet(six, 9, 0))
		for i := range sealed {
			bad := bytes.Clone(sealed)
			bad[i] ^= 1 << (i % 8)
			if got, why := open(in, bad, 4500); why == sa.OK && !bytes.Equal(got, packet(six, 9, 0)) && p.Mode == sa.Tunnel {
				t.Fatalf("%s: a flipped bit of byte %d is not noticed: %x", name, i, got)
			}
			if _, why := open(in, sealed[:i], 4500); why == sa.OK {
				t.Fatalf("%s: cut to %d bytes it still opens", name, i)
			}
		}
	})
}

// TestNoAllocation seals and opens without garbage.
func TestNoAllocation(t *testing.T) {
	variants(func(name string, p sa.Parameters, six bool) {
		p.Window = -1 // the same packet again and again
		if p.ESN {
			return
		}
		out, in := pair(t, p)
		plain := packet(six, 200, 0)
		b, at, _ := buffer(plain)
		w := &sa.Scratch{}
		if n := testing.AllocsPerRun(100, func() {
			copy(b[at:], plain)
			from, to, why := out.Seal(w, b, at, at+len(plain))
			l, where := sa.Locate(b, from, to, 4500)
			if _, _, opened := in.Open(w, b, l); why != sa.OK || where != sa.OK || opened != sa.OK {
				t.Fatal(name, why, where, opened)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	})
}

// reference remembers every number it has seen.
type reference struct {
	seen map[uint64]bool
	top  uint64
	size uint64
}

func (r *reference) check(seq uint64) sa.Reason {
	switch {
	case seq == 0 || seq <= r.top && r.top-seq >= r.size:
		return sa.TooOld
	case r.seen[seq]:
		return sa.Replayed
	}
	r.seen[seq], r.top = true, max(r.top, seq)
	return sa.OK
}

// TestWindowAgainstReference offers random orders with repeats, jumps and
// returns from afar. "go test -orders 10000000" takes the ten million.
func TestWindowAgainstReference(t *testing.T) {
	sizes := []int{1, 32, 63, 64, 65, 128, 1000, 1024, 4095, 4096}
	for i, size := range sizes {
		random := rand.New(rand.NewPCG(uint64(size), 8))
		w, r := sa.NewWindow(size), &reference{seen: map[uint64]bool{}, size: uint64(size)}
		next := uint64(1)
		if i%2 == 1 {
			next = 1<<32 - 2000 // across the end of the low half
		}
		for n := range *orders / len(sizes) {
			seq := next
			switch k := random.IntN(100); {
			case k < 40:
				next++
			case k < 90:
				back := random.Uint64N(uint64(size)*2 + 2)
				seq = next - min(back, next)
			case k < 97:
				next += random.Uint64N(uint64(size) + 1)
				seq = next
			case k < 98:
				next += random.Uint64N(20000)
				seq = next
			default:
				seq = next - min(next, random.Uint64N(100_000))
			}
			got := w.Check(seq)
			if got == sa.OK {
				w.Mark(seq)
			}
			if want := r.check(seq); got != want {
				t.Fatalf("window %d, %d-th number %d (top %d): %v, want %v", size, n, seq, r.top, got, want)
			}
			if got == sa.OK && w.Expand(uint32(seq)) != seq {
				t.Fatalf("window %d: %#x is taken for %#x", size, seq, w.Expand(uint32(seq)))
			}
		}
	}
}

// TestExtendedNumbers goes over the end of the low half, both in order and not.
func TestExtendedNumbers(t *testing.T) {
	p := with("aes128gcm16")
	p.ESN, p.Window = true, 64
	out, in := pair(t, p)
	out.Continue(math.MaxUint32 - 3000)
	// Whoever comes in so late needs the window moved there.
	var held [][]byte
	for i := range 6000 {
		sealed := protect(t, out, packet(false, 20, 0))
		if i%7 == 3 {
			held = append(held, sealed)
			continue
		}
		if _, why := open(in, sealed, 0); why != sa.OK {
			t.Fatalf("packet %d: %v", i, why)
		}
		if len(held) > 3 {
			if _, why := open(in, held[0], 0); why != sa.OK {
				t.Fatalf("a late packet near %d: %v", i, why)
			}
			held = held[1:]
		}
	}
	if top := in.Status().Sequence; top < 1<<32 {
		t.Errorf("the window ends at %#x", top)
	}
}

// TestCounterEnds refuses to send the number after the last (RFC 4303 3.3.3).
func TestCounterEnds(t *testing.T) {
	out, _ := pair(t, with("aes256gcm16"))
	out.Continue(math.MaxUint32 - 1)
	protect(t, out, packet(false, 20, 0))
	for range 2 {
		b, at, end := buffer(packet(false, 20, 0))
		if _, _, why := out.Seal(&sa.Scratch{}, b, at, end); why != sa.Exhausted {
			t.Errorf("after the last number: %v", why)
		}
	}
	if n := out.Status().Drops[sa.Exhausted]; n != 2 {
		t.Errorf("%d counted, want 2", n)
	}
}

// TestLifetimes ends associations by packets, bytes and time.
func TestLifetimes(t *testing.T) {
	p := with("aes128gcm16")
	p.Soft, p.Hard = sa.Lifetime{Packets: 3}, sa.Lifetime{Packets: 5}
	out, _ := pair(t, p)
	for i := range 5 {
		protect(t, out, packet(false, 20, 0))
		if soft := out.Status().Soft; soft != (i >= 3) {
			t.Errorf("after %d packets soft is %v", i+1, soft)
		}
	}
	b, at, end := buffer(packet(false, 20, 0))
	if _, _, why := out.Seal(&sa.Scratch{}, b, at, end); why != sa.Expired {
		t.Errorf("sixth packet: %v", why)
	}
	p.Soft, p.Hard = sa.Lifetime{}, sa.Lifetime{Bytes: 100}
	_, in := pair(t, p)
	out, _ = pair(t, with("aes128gcm16"))
	for i, want := range []sa.Reason{sa.OK, sa.OK, sa.Expired} {
		if _, why := open(in, protect(t, out, packet(false, 20, 0)), 0); why != want {
			t.Errorf("packet %d of 48 bytes against 100: %v, want %v", i, why, want)
		}
	}
	p.Hard = sa.Lifetime{Time: time.Hour}
	out, _ = pair(t, p)
	if out.Age(time.Now().Add(time.Minute)); out.Status().Expired {
		t.Error("expired after a minute")
	}
	if out.Age(time.Now().Add(time.Hour + time.Second)); !out.Status().Expired {
		t.Error("not expired after an hour")
	}
}
