package frame

import (
	"net/netip"
	"testing"
)

// segment is Ethernet, IPv4 and TCP with timestamps and 4 bytes of payload.
var segment = []byte{
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 8, 0,
	0x45, 0, 0, 56, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 198, 51, 100, 7,
	0, 20, 0xc3, 0x50, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x18, 1, 0, 0, 0, 0, 0,
	1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4, 'a', 'b', 'c', 'd',
}

// TestShortWay wants the short way and the long one to agree.
func TestShortWay(t *testing.T) {
	var short, long Packet
	if f := Decode(LinkEthernet, segment, len(segment), &short); f.Kind != None {
		t.Fatal(f)
	}
	d := decoder{p: &long, wire: len(segment), all: len(segment)}
	if f := d.link(LinkEthernet, segment); f.Kind != None {
		t.Fatal(f)
	}
	if string(short.Data) != "abcd" || string(long.Data) != "abcd" {
		t.Errorf("payload %q and %q", short.Data, long.Data)
	}
	short.Data, long.Data = nil, nil
	if short.Src != AddrFrom(netip.MustParseAddr("192.0.2.1")) || short.Payload != 4 || short.Options.TSval != 3 || short.Options.TSecr != 4 || short.Headers != 66 {
		t.Errorf("%+v", short)
	}
	short.Data, long.Data = nil, nil
	if a, b := short, long; a.Src != b.Src || a.Dst != b.Dst || a.Seq != b.Seq || a.Options != b.Options || a.Headers != b.Headers || a.Payload != b.Payload || a.ID != b.ID || a.TTL != b.TTL || a.DontFragment != b.DontFragment {
		t.Errorf("short way %+v\nlong way  %+v", short, long)
	}
}

// TestEveryCut decodes a frame cut anywhere: never more than is there.
func TestEveryCut(t *testing.T) {
	for n := range len(segment) {
		var p Packet
		f := Decode(LinkEthernet, segment[:n], len(segment), &p)
		if (f.Kind == None) != (n >= 54) {
			t.Errorf("%d bytes: %v", n, f)
		}
		if f.Kind == None && (p.Payload != 4 || p.Options.Cut != (n < 66)) {
			t.Errorf("%d bytes: payload %d, options cut %v", n, p.Payload, p.Options.Cut)
		}
	}
}

func TestFaultsNameThemselves(t *testing.T) {
	for f, want := range map[Fault]string{
		{UnknownEtherType, 0x88cc}: "ether type 0x88cc", {UnknownProtocol, 89}: "IP protocol 89", {UnknownLink, 7}: "link type 7",
		{Kind: CutShort}: "header cut by the snapshot length", {}: "decoded",
	} {
		if f.String() != want {
			t.Errorf("%+v is %q, want %q", f, f, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(uint16(LinkEthernet), segment)
	f.Add(uint16(LinkRaw), segment[14:])
	f.Add(uint16(LinkSLL2), append(make([]byte, 20), segment[14:]...))
	f.Add(uint16(LinkNFLOG), []byte{2, 0, 0, 0, 8, 0, 9, 0, 0x45, 0})
	f.Fuzz(func(t *testing.T, link uint16, b []byte) {
		var p Packet
		if Decode(link, b, len(b), &p).Kind == None && (p.Payload < 0 || len(p.Data) > len(b)) {
			t.Errorf("%+v", p)
		}
	})
}
