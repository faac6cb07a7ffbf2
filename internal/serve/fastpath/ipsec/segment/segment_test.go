package segment

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/linerate/linerate/internal/wire/frame"
)

// super makes a TCP super-packet of n bytes of payload with 12 bytes of options.
func super(six bool, n, size int) (Header, []byte) {
	head := 20
	b := make([]byte, 20, 60+n+32)
	if six {
		head = 40
		b = b[:40]
		b[0], b[6], b[7], b[8], b[24] = 0x60, tcp, 64, 0xfd, 0xfd
	} else {
		b[0], b[5], b[6], b[8], b[9], b[12], b[16] = 0x45, 7, 0x40, 64, tcp, 10, 10
	}
	t := make([]byte, 32)
	binary.BigEndian.PutUint32(t, 0x1f401f41)
	binary.BigEndian.PutUint32(t[4:], 0xfffffc00) // wraps
	t[12], t[13], t[14] = 8<<4, frame.ACK|frame.PSH, 9
	copy(t[20:], []byte{1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8})
	b = append(b, t...)
	for i := range n {
		b = append(b, byte(i*7+i>>8))
	}
	lengths(b, len(b))
	binary.BigEndian.PutUint16(b[head+16:], frame.Fold(pseudo(b, tcp, len(b)-head)))
	h := Header{Flags: NeedsChecksum, GSO: TCPv4, HeaderLen: uint16(head + 32), Size: uint16(size), ChecksumStart: uint16(head), ChecksumOffset: 16}
	if six {
		h.GSO = TCPv6
	}
	return h, b
}

// TestThereAndBack splits super-packets and joins them again.
func TestThereAndBack(t *testing.T) {
	batch := NewBatch(128, 64, 1500, 64)
	for _, six := range []bool{false, true} {
		for _, n := range []int{1, 100, 1348, 1349, 5000, 60_000} {
			h, b := super(six, n, 1348)
			want := bytes.Clone(b)
			batch.Reset()
			if ok, err := Split(h, b, batch); !ok || err != nil {
				t.Fatal(n, ok, err)
			}
			m := &Merger{}
			for i := range batch.Packets {
				p := batch.Packets[i].Bytes()
				transport, data, _ := segmentOf(p)
				if transport == 0 || !intact(p, transport) || transport == 20 && frame.Fold(frame.Sum(0, p[:20])) != 0xffff || len(p)-data > 1348 {
					t.Fatalf("%d bytes: segment %d is damaged: %x", n, i, p)
				}
				m.Add(p)
			}
			g := m.Groups()
			if len(g) != 1 {
				t.Fatalf("%d bytes: %d groups", n, len(g))
			}
			got := bytes.Join(g[0].Parts, nil)
			if n <= 1348 { // alone, its checksum is done
				want = bytes.Clone(batch.Packets[0].Bytes())
			} else if g[0].Header != h {
				t.Errorf("header %+v, want %+v", g[0].Header, h)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%d bytes come back otherwise:\n%x\n%x", n, got[:80], want[:80])
			}
		}
	}
}

// TestKeptApart gives the merger neighbours that must not be joined.
func TestKeptApart(t *testing.T) {
	for name, change := range map[string]func(b []byte){
		"gap": func(b []byte) { b[27]++ }, "port": func(b []byte) { b[21]++ }, "address": func(b []byte) { b[19]++ }, "ECN": func(b []byte) { b[1] = 3 },
		"FIN": func(b []byte) { b[33] |= frame.FIN }, "window": func(b []byte) { b[34]++ }, "time stamp": func(b []byte) { b[47]++ },
		"acknowledgement": func(b []byte) { b[31]++ }, "fragment": func(b []byte) { b[6] = 0x20 }, "TTL": func(b []byte) { b[8]-- },
		"damaged": func(b []byte) { b[70]++ },
	} {
		batch := NewBatch(8, 0, 1500, 0)
		h, b := super(false, 3000, 1000)
		if _, err := Split(h, b, batch); err != nil {
			t.Fatal(err)
		}
		p := batch.Packets[1].Bytes()
		if change(p); name != "damaged" {
			lengths(p, len(p))
			p[36], p[37] = 0, 0
			binary.BigEndian.PutUint16(p[36:], ^frame.Fold(frame.Sum(pseudo(p, tcp, len(p)-20), p[20:])))
		}
		want := bytes.Clone(p)
		m := &Merger{}
		for i := range batch.Packets {
			m.Add(batch.Packets[i].Bytes())
		}
		for _, g := range m.Groups() {
			if bytes.Equal(g.Parts[0], want) && len(g.Parts) == 1 {
				want = nil
			}
		}
		if want != nil {
			t.Errorf("%s: joined", name)
		}
	}
}

// TestRandomOrder joins shuffled segments of several flows; what comes out,
// split again, is what came in, each flow in its order.
func TestRandomOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	in, out := NewBatch(120, 0, 1500, 0), NewBatch(120, 0, 1500, 0)
	for range 300 {
		in.Reset()
		out.Reset()
		for f := range 4 {
			h, b := super(f%2 == 0, random.IntN(20_000)+1, 1000)
			b[len(b)-1] = byte(f)
			b[int(h.ChecksumStart)] = byte(f)
			if _, err := Split(h, b, in); err != nil {
				t.Fatal(err)
			}
		}
		order := random.Perm(len(in.Packets))
		if random.IntN(2) == 0 { // mostly in order
			for i := range order {
				order[i] = i
			}
		}
		var want [][]byte
		m := &Merger{}
		for _, i := range order {
			want = append(want, bytes.Clone(in.Packets[i].Bytes()))
			m.Add(in.Packets[i].Bytes())
		}
		for _, g := range m.Groups() {
			if ok, err := Split(g.Header, bytes.Join(g.Parts, nil), out); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		for f := range byte(4) {
			flow := func(all [][]byte) (of [][]byte) {
				for _, p := range all {
					at := 20
					if p[0] == 0x60 {
						at = 40
					}
					if p[at] == f {
						p = bytes.Clone(p)
						p[4], p[5], p[10], p[11] = 0, 0, 0, 0 // identification is not kept
						of = append(of, p)
					}
				}
				return of
			}
			var all [][]byte
			for i := range out.Packets {
				all = append(all, out.Packets[i].Bytes())
			}
			a, b := flow(want), flow(all)
			if len(a) != len(b) {
				t.Fatalf("flow %d: %d segments, want %d", f, len(b), len(a))
			}
			for i := range a {
				if a[i][0] == 0x60 {
					a[i], b[i] = a[i][11:], b[i][11:]
				}
				if !bytes.Equal(a[i], b[i]) {
					t.Fatalf("flow %d, segment %d differs:\n%x\n%x", f, i, a[i][:60], b[i][:60])
				}
			}
		}
	}
}

// FuzzSplit gives Split anything; what it takes must fit the batch.
func FuzzSplit(f *testing.F) {
	for _, six := range []bool{false, true} {
		h, b := super(six, 5000, 1000)
		f.Add(h.Flags, h.GSO, h.Size, h.ChecksumStart, h.ChecksumOffset, b)
	}
	batch := NewBatch(64, 16, 1500, 16)
	f.Fuzz(func(t *testing.T, flags, gso uint8, size, start, offset uint16, b []byte) {
		batch.Reset()
		_, _ = Split(Header{flags, gso, 0, size, start, offset}, b, batch)
		m := &Merger{}
		for i := range batch.Packets {
			m.Add(batch.Packets[i].Bytes())
		}
		m.Groups()
	})
}
