package nic

import "encoding/binary"

// The virtio-net header of Virtio 1.3, 5.1.6, as packet sockets and TAP
// devices put it in front of a frame, in the byte order of this host.
const virtioBytes = 10

const (
	virtioNeedsSum = 1 // VIRTIO_NET_HDR_F_NEEDS_CSUM
	virtioValid    = 2 // VIRTIO_NET_HDR_F_DATA_VALID
	virtioTCPv4    = 1 // VIRTIO_NET_HDR_GSO_TCPV4
	virtioTCPv6    = 4 // VIRTIO_NET_HDR_GSO_TCPV6
)

// putVirtio writes the header that asks for o.
func putVirtio(b *[virtioBytes]byte, o Offload) {
	*b = [virtioBytes]byte{}
	if o.Sum {
		b[0] = virtioNeedsSum
		binary.NativeEndian.PutUint16(b[6:], o.Start)
		binary.NativeEndian.PutUint16(b[8:], o.Field)
	}
	if o.Segment > 0 {
		b[1] = virtioTCPv4
		if o.IPv6 {
			b[1] = virtioTCPv6
		}
		binary.NativeEndian.PutUint16(b[2:], o.Headers)
		binary.NativeEndian.PutUint16(b[4:], o.Segment)
	}
}

// vouched reports whether a received frame needs no check of its sum: the
// sender is this host and left it out, or the card below has checked it.
func vouched(header []byte) bool { return header[0]&(virtioNeedsSum|virtioValid) != 0 }
