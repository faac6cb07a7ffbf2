package segment

import (
	"bytes"
	"encoding/binary"

	"github.com/linerate/linerate/internal/wire/frame"
)

// Group is a super-packet in parts: the first packet, then payloads.
type Group struct {
	Header Header
	Parts  [][]byte
	length int // of all parts
	size   int // of a segment's payload
	tcp    int // where the TCP header is
	data   int // where the payload is
	next   uint32
	open   bool // takes more
}

// Merger joins TCP segments of one batch that follow each other; everything
// else it leaves alone. It keeps the order of each flow.
type Merger struct {
	groups []Group
	used   int
}

// Limits of a super-packet: IP's own length, and how many flows are looked for.
const (
	maxLength = 65535
	maxOpen   = 8
)

// Reset empties the merger; parts are not used any more.
func (m *Merger) Reset() { m.used = 0 }

// Groups returns what Add has put together, headers done.
func (m *Merger) Groups() []Group {
	for i := range m.groups[:m.used] {
		m.groups[i].finish()
	}
	return m.groups[:m.used]
}

// Add takes an IP packet, which must stay until the groups are written. It may
// be changed.
func (m *Merger) Add(b []byte) {
	transport, data, mergeable := segmentOf(b)
	seen := 0
	for i := m.used - 1; i >= 0 && mergeable && seen < maxOpen; i-- {
		g := &m.groups[i]
		if g.tcp == 0 {
			continue
		}
		if seen++; !sameFlow(g.Parts[0], b, g.tcp, transport) {
			continue
		}
		if g.joins(b, transport, data) && intact(b, transport) {
			if len(g.Parts) > 1 || intact(g.Parts[0], transport) {
				g.join(b, data)
				return
			}
		}
		g.open = false
		break
	}
	if m.used == len(m.groups) {
		m.groups = append(m.groups, Group{})
	}
	g := &m.groups[m.used]
	m.used++
	*g = Group{Parts: append(g.Parts[:0], b), length: len(b)}
	if mergeable {
		g.tcp, g.data, g.size = transport, data, len(b)-data
		g.next = binary.BigEndian.Uint32(b[transport+4:]) + uint32(g.size)
		g.open = b[transport+13] == frame.ACK
	}
}

// segmentOf finds the TCP header of a packet with payload that could be joined
// to others.
func segmentOf(b []byte) (transport, data int, ok bool) {
	switch {
	case len(b) >= 40 && b[0] == 0x45 && b[9] == tcp && b[6]&0x3f == 0 && b[7] == 0 && int(binary.BigEndian.Uint16(b[2:])) == len(b):
		transport = 20
	case len(b) >= 60 && b[0]>>4 == 6 && b[6] == tcp && int(binary.BigEndian.Uint16(b[4:])) == len(b)-40:
		transport = 40
	default:
		return 0, 0, false
	}
	data = transport + int(b[transport+12]>>4)*4
	// Only data: anything else must reach the stack by itself.
	flags := b[transport+13]
	return transport, data, data >= transport+20 && data < len(b) && flags&^frame.PSH == frame.ACK
}

// sameFlow compares addresses and ports.
func sameFlow(a, b []byte, at, transport int) bool {
	from := 12
	if transport == 40 {
		from = 8
	}
	return at == transport && bytes.Equal(a[from:transport+4], b[from:transport+4])
}

// joins reports whether b goes on where the group ends, and differs in nothing
// that would be lost.
func (g *Group) joins(b []byte, transport, data int) bool {
	a := g.Parts[0]
	if !g.open || data != g.data || len(b)-data > g.size || g.length+len(b)-data > maxLength || binary.BigEndian.Uint32(b[transport+4:]) != g.next {
		return false
	}
	if transport == 20 { // TOS, DF, TTL
		if a[1] != b[1] || a[6] != b[6] || a[8] != b[8] {
			return false
		}
	} else if !bytes.Equal(a[:4], b[:4]) || a[7] != b[7] {
		return false
	}
	// Acknowledgement, offset; window; options, time stamps among them.
	return bytes.Equal(a[transport+8:transport+13], b[transport+8:transport+13]) && bytes.Equal(a[transport+14:transport+16], b[transport+14:transport+16]) &&
		bytes.Equal(a[transport+18:data], b[transport+18:data])
}

// intact verifies the TCP checksum: joined, it would be made anew and hide what
// went wrong before.
func intact(b []byte, transport int) bool {
	return frame.Fold(frame.Sum(pseudo(b, tcp, len(b)-transport), b[transport:])) == 0xffff
}

func (g *Group) join(b []byte, data int) {
	n := len(b) - data
	g.Parts = append(g.Parts, b[data:])
	g.length += n
	g.next += uint32(n)
	push := b[g.tcp+13] & frame.PSH
	g.Parts[0][g.tcp+13] |= push
	g.open = n == g.size && push == 0
}

// finish writes the headers of a group of several.
func (g *Group) finish() {
	if len(g.Parts) == 1 || g.Header.Size != 0 {
		return
	}
	b := g.Parts[0]
	lengths(b, g.length)
	binary.BigEndian.PutUint16(b[g.tcp+16:], frame.Fold(pseudo(b, tcp, g.length-g.tcp)))
	g.Header = Header{Flags: NeedsChecksum, GSO: TCPv4, HeaderLen: uint16(g.data), Size: uint16(g.size), ChecksumStart: uint16(g.tcp), ChecksumOffset: 16}
	if g.tcp == 40 {
		g.Header.GSO = TCPv6
	}
}
