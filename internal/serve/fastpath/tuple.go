package fastpath

import (
	"encoding/binary"
	"net/netip"

	"github.com/linerate/linerate/internal/wire/frame"
)

// Tuple is what identifies one way of a connection.
type Tuple struct {
	Source, Target netip.AddrPort
	Protocol       uint8 // 6 TCP, 17 UDP
}

// Protocols that flows may have.
const (
	tcp = 6
	udp = 17
)

// Connection is an established connection: the packets of its way 0 come in as
// Original, those of its way 1 as Reply. NAT makes Reply other than Original
// turned round.
type Connection struct {
	Original, Reply Tuple
}

// ways returns for each way how its packets come in and how they leave.
func (c Connection) ways() [2]struct{ in, out Tuple } {
	return [2]struct{ in, out Tuple }{{c.Original, c.Reply.turned()}, {c.Reply, c.Original.turned()}}
}

// valid reports whether both ways are of one family and a protocol that can be
// forwarded.
func (c Connection) valid() bool {
	o, r := c.Original, c.Reply
	is4 := o.Source.Addr().Is4()
	for _, a := range []netip.AddrPort{o.Source, o.Target, r.Source, r.Target} {
		if !a.IsValid() || a.Addr().Is4() != is4 {
			return false
		}
	}
	return o.Protocol == r.Protocol && (o.Protocol == tcp || o.Protocol == udp)
}

func (t Tuple) turned() Tuple { return Tuple{t.Target, t.Source, t.Protocol} }

func bigEndian(port uint16) (b [2]byte) {
	binary.BigEndian.PutUint16(b[:], port)
	return b
}

// translation is what NAT does to the packets of a way.
type translation struct {
	changes            bool
	network, transport uint16 // differences of the checksums, in the host's byte order
}

// translate computes the checksums' differences once for all packets of a way
// (RFC 1624, equation 3): the sum of the complements of what goes and of what
// comes. The IPv4 header's covers the addresses, the transport's also the ports.
func translate(in, out Tuple) translation {
	var network, transport uint32
	change := func(a, b []byte) {
		for i := 0; i < len(a); i += 2 {
			network += uint32(^binary.NativeEndian.Uint16(a[i:])) + uint32(binary.NativeEndian.Uint16(b[i:]))
		}
	}
	change(in.Source.Addr().AsSlice(), out.Source.Addr().AsSlice())
	change(in.Target.Addr().AsSlice(), out.Target.Addr().AsSlice())
	for _, p := range [][2]netip.AddrPort{{in.Source, out.Source}, {in.Target, out.Target}} {
		a, b := bigEndian(p[0].Port()), bigEndian(p[1].Port())
		transport += uint32(^binary.NativeEndian.Uint16(a[:])) + uint32(binary.NativeEndian.Uint16(b[:]))
	}
	return translation{in != out, frame.Fold(uint64(network)), frame.Fold(uint64(network) + uint64(transport))}
}
