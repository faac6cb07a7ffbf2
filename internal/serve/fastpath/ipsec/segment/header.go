// Package segment cuts the super-packets of a TUN device into packets and joins
// packets to super-packets, as a network card with segmentation offload would:
// a system call moves dozens of packets then.
package segment

import (
	"encoding/binary"
	"errors"

	"github.com/linerate/linerate/internal/wire/frame"
)

// Header goes before each packet of a TUN device with IFF_VNET_HDR (virtio 1.2
// 5.1.6, linux/virtio_net.h). It says what is left to do.
type Header struct {
	Flags, GSO     uint8
	HeaderLen      uint16 // bytes that every segment repeats
	Size           uint16 // of the payload of a segment
	ChecksumStart  uint16 // where the checksum begins to count
	ChecksumOffset uint16 // and where, behind that, it is written
}

// HeaderBytes is the length of a Header.
const HeaderBytes = 10

// Flags and kinds of segmentation.
const (
	NeedsChecksum = 1
	None          = 0
	TCPv4         = 1
	TCPv6         = 4
	UDP           = 5 // of the payload, VIRTIO_NET_HDR_GSO_UDP_L4
	ecn           = 0x80
)

// ErrMalformed is returned for a super-packet that does not fit its header.
var ErrMalformed = errors.New("segment: malformed super-packet")

// Parse reads a Header, in the host's byte order.
func Parse(b []byte) (h Header, ok bool) {
	if len(b) < HeaderBytes {
		return h, false
	}
	u := binary.NativeEndian.Uint16
	return Header{b[0], b[1], u(b[2:]), u(b[4:]), u(b[6:]), u(b[8:])}, true
}

// Put writes the header into the first bytes of b.
func (h Header) Put(b []byte) {
	b[0], b[1] = h.Flags, h.GSO
	p := binary.NativeEndian.PutUint16
	p(b[2:], h.HeaderLen)
	p(b[4:], h.Size)
	p(b[6:], h.ChecksumStart)
	p(b[8:], h.ChecksumOffset)
}

// Packet is one IP packet in a buffer with room around it.
type Packet struct {
	Buffer  []byte
	At, End int
}

// Bytes returns the packet.
func (p *Packet) Bytes() []byte { return p.Buffer[p.At:p.End] }

// Batch is packets in buffers that are used again and again.
type Batch struct {
	Packets          []Packet // in use
	all              []Packet
	headroom, length int
}

// NewBatch makes a batch of n packets of up to length bytes with room around
// them.
func NewBatch(n, headroom, length, tailroom int) *Batch {
	b := &Batch{all: make([]Packet, n), headroom: headroom, length: length}
	size := headroom + length + tailroom
	memory := make([]byte, n*size)
	for i := range b.all {
		b.all[i].Buffer = memory[i*size : (i+1)*size : (i+1)*size]
	}
	b.Reset()
	return b
}

// Reset empties the batch.
func (b *Batch) Reset() { b.Packets = b.all[:0] }

// Free returns how many packets still fit.
func (b *Batch) Free() int { return len(b.all) - len(b.Packets) }

// Next takes a buffer for a packet of n bytes, or nil.
func (b *Batch) Next(n int) *Packet {
	if b.Free() == 0 || n > b.length {
		return nil
	}
	b.Packets = b.all[:len(b.Packets)+1]
	p := &b.Packets[len(b.Packets)-1]
	p.At, p.End = b.headroom, b.headroom+n
	return p
}

// pseudo is the sum of the pseudo-header for n bytes of a protocol (RFC 9293
// 3.1, RFC 8200 8.1).
func pseudo(b []byte, protocol uint8, n int) uint64 {
	addresses := b[12:20]
	if b[0]>>4 == 6 {
		addresses = b[8:40]
	}
	return frame.Sum(uint64(protocol)+uint64(n), addresses)
}

// lengths writes the length of the packet into its IP header, and the IPv4
// checksum.
func lengths(b []byte, n int) {
	if b[0]>>4 == 6 {
		binary.BigEndian.PutUint16(b[4:], uint16(n-40))
		return
	}
	binary.BigEndian.PutUint16(b[2:], uint16(n))
	b[10], b[11] = 0, 0
	binary.BigEndian.PutUint16(b[10:], ^frame.Fold(frame.Sum(0, b[:int(b[0]&15)*4])))
}

// protocol returns that of a packet without extension headers or options in
// the way.
func protocol(b []byte) uint8 {
	if b[0]>>4 == 6 {
		return b[6]
	}
	return b[9]
}

const (
	tcp = frame.ProtoTCP
	udp = frame.ProtoUDP
)
