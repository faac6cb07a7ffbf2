// Package generator offers frames at a constant rate and counts what comes out
// at the other end of the device under test.
//
// Frames are made in the kernel (XDP live frames) where the interface can, by
// AF_XDP or a packet socket otherwise. Each carries a signature with flow,
// sequence number and time stamp, so that a lost, a late and a repeated frame
// are three things.
package generator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net"
	"net/netip"

	"github.com/linerate/linerate/internal/wire/frame"
)

// Limits of a Profile.
const (
	MaxFlows = 1 << 16
	MaxHosts = 1 << 15
	MaxMix   = 64
	MaxFrame = 9216 // bytes with FCS, RFC 5180 5.1.1
	MaxLive  = 3500 // of frames made in the kernel, each in one page
)

// Profile is what the frames look like.
type Profile struct {
	Sizes            []int // bytes with FCS, in sending order; one: all alike
	Source, Dest     net.HardwareAddr
	SourceIP, DestIP netip.Addr
	VLAN             int  // tag, 0 for none
	Flows            int  // told apart by UDP source port and number in the signature; a power of two
	Hosts            int  // destination addresses from DestIP on; a power of two, at most Flows
	TTL              int  // 0 means 10 (RFC 2544 C.2.6.4)
	StampEvery       int  // time stamp in every so many frames of a flow, a power of two; 0: none
	FirstFlow        int  // number of the first flow, where several generators share a sink
	Shuffled         bool // flows and their ports in pseudo-random order (RFC 4814), not one after another
	Modifier         Modifier
	fault            fault
}

// IMIX is the simple mix of 7:4:1 frames of 64, 594 and 1518 bytes.
func IMIX() []int { return []int{64, 64, 594, 64, 594, 64, 1518, 64, 594, 64, 594, 64} }

// fault is what tests have the generator do wrong, in every so many frames.
type fault struct {
	kind  uint32
	every uint32
}

// stack returns the headers of the frames.
func (p Profile) stack() frame.Stack {
	s := frame.Stack{UDP: true, IPv6: p.SourceIP.Is6()}
	if p.VLAN > 0 {
		s.VLANs = 1
	}
	return s
}

// headerBytes is the length of Ethernet, VLAN, IP and UDP headers.
func (p Profile) headerBytes() int {
	s := p.stack()
	return frame.HeaderBytes + frame.VLANTag*s.VLANs + s.Headers()
}

// Overhead is what a frame carries besides UDP payload, FCS included.
func (p Profile) Overhead() int { return p.headerBytes() + frame.FCS }

// Smallest returns the shortest frame, with FCS, that holds the signature: 64
// bytes for IPv4, 86 for IPv6, whose UDP checksum needs two bytes of balance.
func (p Profile) Smallest() int {
	n := p.headerBytes() + frame.SignatureBytes + frame.FCS
	if p.SourceIP.Is6() {
		n += 2
	}
	return max(n, frame.MinFrame)
}

// check refuses what cannot be sent, and says what can.
func (p Profile) check() error {
	pow2 := func(n int) bool { return n > 0 && bits.OnesCount(uint(n)) == 1 }
	switch {
	case len(p.Sizes) == 0 || len(p.Sizes) > MaxMix:
		return fmt.Errorf("want 1 to %d frame sizes", MaxMix)
	case len(p.Source) != 6 || len(p.Dest) != 6:
		return errors.New("want a source and a destination MAC address")
	case !p.SourceIP.IsValid() || p.SourceIP.Is4() != p.DestIP.Is4():
		return errors.New("want source and destination IP addresses of one version")
	case !pow2(p.Flows) || p.Flows > MaxFlows || p.FirstFlow < 0 || p.FirstFlow+p.Flows > MaxFlows:
		return fmt.Errorf("%d flows from number %d: want a power of two, and numbers below %d", p.Flows, p.FirstFlow, MaxFlows)
	case p.Hosts != 0 && (!pow2(p.Hosts) || p.Hosts > min(p.Flows, MaxHosts)):
		return fmt.Errorf("%d destination addresses: want a power of two, at most the number of flows and %d", p.Hosts, MaxHosts)
	case len(p.Sizes) > 1 && p.SourceIP.Is6():
		return errors.New("a mix of sizes wants IPv4: the UDP checksum of IPv6 is made for one size")
	case p.StampEvery != 0 && !pow2(p.StampEvery):
		return fmt.Errorf("a stamp every %d frames: want a power of two", p.StampEvery)
	case p.VLAN < 0 || p.VLAN > 4094:
		return fmt.Errorf("VLAN %d: want 1 to 4094", p.VLAN)
	}
	for _, n := range p.Sizes {
		if n < p.Smallest() || n > MaxFrame {
			return fmt.Errorf("frame size %d: want %d, which holds the signature, to %d", n, p.Smallest(), MaxFrame)
		}
	}
	return nil
}

// template is a frame of the profile as the program in the kernel needs it.
type template struct {
	frame            []byte // without FCS, of the greatest size
	words, pairs     uint32 // of its header, 8 and 2 bytes each
	ip, udp, payload uint32 // offsets
}

// template builds the frame with flow 0's port, checksums over what does not
// vary.
func (p Profile) template() template {
	size := 0
	for _, n := range p.Sizes {
		size = max(size, n-frame.FCS)
	}
	t := template{frame: make([]byte, 0, size)}
	b := append(append(t.frame, p.Dest...), p.Source...)
	if p.VLAN > 0 {
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, 0x8100), uint16(p.VLAN))
	}
	ip := len(b) + 2
	b = p.appendIP(b, size-ip)
	udp := len(b)
	b = binary.BigEndian.AppendUint16(b, sourcePort)
	b = binary.BigEndian.AppendUint16(b, echoPort)
	b = binary.BigEndian.AppendUint16(b, uint16(size-udp))
	b = binary.BigEndian.AppendUint16(b, 0)
	t.ip, t.udp, t.payload = uint32(ip), uint32(udp), uint32(len(b))
	t.words, t.pairs = t.payload/8, t.payload%8/2
	for i := 0; len(b) < size; i++ { // incrementing, RFC 2544 C.2.6.4
		b = append(b, byte(i))
	}
	if p.SourceIP.Is6() {
		p.checksumUDP6(b, ip, udp)
	}
	t.frame = b
	return t
}

// UDP ports of RFC 2544 C.2.6.4: echo, from 0xc020 on.
const (
	sourcePort = 0xc020
	echoPort   = 7
)

func (p Profile) appendIP(b []byte, length int) []byte {
	ttl := byte(10)
	if p.TTL > 0 {
		ttl = byte(min(p.TTL, 255))
	}
	if p.SourceIP.Is6() {
		b = binary.BigEndian.AppendUint16(b, 0x86dd)
		b = append(b, 0x60, 0, 0, 0)
		b = binary.BigEndian.AppendUint16(b, uint16(length-40))
		b = append(b, 17, ttl)
		return append(append(b, p.SourceIP.AsSlice()...), p.DestIP.AsSlice()...)
	}
	b = binary.BigEndian.AppendUint16(b, 0x0800)
	ip := len(b)
	b = append(b, 0x45, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(length))
	b = append(b, 0, 0, 0, 0, ttl, 17, 0, 0)
	b = append(append(b, p.SourceIP.AsSlice()...), p.DestIP.AsSlice()...)
	binary.BigEndian.PutUint16(b[ip+10:], ^sum16(0, b[ip:]))
	return b
}

// checksumUDP6 fills in the checksum with everything that varies counted as
// zero: port, signature and balance, which the generator keeps at zero in sum.
func (p Profile) checksumUDP6(b []byte, ip, udp int) {
	vary := udp + 8
	seed := uint32(17) + uint32(len(b)-udp) // pseudo-header, RFC 8200 8.1
	s := uint32(sum16(seed, b[ip+8:ip+40]))
	s += uint32(sum16(0, b[udp+2:vary]))
	s += uint32(sum16(0, b[vary+frame.SignatureBytes+2:]))
	c := ^sum16(s, nil)
	if c == 0 {
		c = 0xffff // RFC 768: zero means no checksum
	}
	binary.BigEndian.PutUint16(b[udp+6:], c)
}

// sum16 is the one's complement sum of b, with s before it (RFC 1071).
func sum16(s uint32, b []byte) uint16 { return frame.Fold(frame.Sum(uint64(s), b)) }
