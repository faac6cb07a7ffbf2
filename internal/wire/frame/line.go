// Package frame is bytes to structs for Ethernet, IP, TCP and UDP, and the
// arithmetic of how much of a line's rate their headers leave.
package frame

// Byte times that a frame takes on the wire besides its bytes with FCS:
// preamble 7, start delimiter 1, interpacket gap 12 (IEEE 802.3 3.1.1, 4.4.2).
const (
	FCS         = 4
	HeaderBytes = 14 // destination, source, type
	Gap         = 7 + 1 + 12
	MinFrame    = 64 // with FCS
	VLANTag     = 4
)

// OnWire returns the byte times taken by a frame of n bytes as a host sees it:
// with Ethernet header, without FCS, padded to the minimum.
func OnWire(n int) int { return max(n+FCS, MinFrame) + Gap }

// Stack is the headers above Ethernet that a payload travels in.
type Stack struct {
	IPv6       bool
	UDP        bool // TCP where false
	Timestamps bool // TCP timestamps option, 12 bytes with padding (RFC 7323 3.2)
	VLANs      int
}

// Headers returns the bytes of IP and transport headers.
func (s Stack) Headers() int {
	n := 20
	if s.IPv6 {
		n = 40
	}
	if s.UDP {
		return n + 8
	}
	n += 20
	if s.Timestamps {
		n += 12
	}
	return n
}

// Goodput returns the greatest payload rate in bit/s of a line of rate bit/s
// with full packets of mtu bytes: rate times payload over byte times.
func (s Stack) Goodput(rate float64, mtu int) float64 {
	payload := mtu - s.Headers()
	if payload <= 0 {
		return 0
	}
	return rate * float64(payload) / float64(OnWire(mtu+HeaderBytes+VLANTag*s.VLANs))
}

// Rate returns the greatest frame rate of a line of rate bit/s for frames of n
// bytes with FCS (RFC 2544 section 20, RFC 5180 appendix A).
func Rate(rate float64, n int) float64 { return rate / (8 * float64(max(n, MinFrame)+Gap)) }
