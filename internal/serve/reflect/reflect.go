// Package reflect sends test frames back to where they came from: the far end
// of a link under test (RFC 2544 section 6). MAC and IP addresses and UDP ports
// change places; everything else passes to the stack, which answers ARP and
// neighbour solicitations for the addresses it has.
package reflect

import "net"

// Options of a reflector.
type Options struct {
	Any     bool             // also reflect UDP to the echo port without our signature, as stock testers send
	Out     string           // second arm: send out of this interface instead
	NextHop net.HardwareAddr // destination of what leaves the second arm
}

// Counts are what a reflector did.
type Counts struct {
	Frames, Bytes uint64 // sent back
	Foreign       uint64 // passed to the stack
}

// swap turns a frame round in place, as the program in the kernel does; udp is
// the offset of the UDP header, ip that of the IP header.
func swap(b []byte, ip, udp int) {
	exchange(b, 0, 6, 6)
	if b[ip]>>4 == 6 {
		exchange(b, ip+8, ip+24, 16)
	} else {
		exchange(b, ip+12, ip+16, 4)
	}
	exchange(b, udp, udp+2, 2)
}

// exchange swaps n bytes at i with those at j.
func exchange(b []byte, i, j, n int) {
	for k := range n {
		b[i+k], b[j+k] = b[j+k], b[i+k]
	}
}
