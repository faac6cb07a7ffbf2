package testnet

import "net/netip"

// Link is a virtual Ethernet cable between two namespaces.
type Link struct{ A, B End }

// End is an interface at one end of a Link, up, with its addresses.
type End struct {
	Namespace *Namespace
	Interface string // "eth0" for the first link of a pair, the same at both ends
	MAC       string
	IPv4      netip.Prefix // of 198.18.0.0/15 (RFC 2544 appendix C)
	IPv6      netip.Prefix // of 2001:2::/48 (RFC 5180 section 8); not valid where the kernel lacks IPv6
}

// Counters is what an interface has sent and received since it was made. With
// segmentation offload on, a veth counts a whole super-packet as one frame.
type Counters struct{ TxFrames, TxBytes, RxFrames, RxBytes uint64 }

// MTUs of a link.
const (
	StandardMTU = 1500
	JumboMTU    = 9000
)

// LinkOptions says how a Link is made; the zero value is two ends of the
// standard MTU with addresses chosen so that links do not collide.
type LinkOptions struct {
	MTU     int        // 0 means StandardMTU
	A, B    EndOptions // addresses instead of the chosen ones
	Bare    bool       // no addresses: for frames of one's own making
	Offload Offload    // zero: as the driver has them, all on
}

// EndOptions overrides the addresses of one end.
type EndOptions struct{ IPv4, IPv6 netip.Prefix }

// Offload names sets of offload features of an interface.
type Offload int

// The sets of features.
const (
	OffloadDefault  Offload = iota // untouched
	OffloadAll                     // TSO, GSO, GRO and checksums on
	OffloadSegments                // TSO, GSO and GRO off: every frame is at most an MTU
	OffloadNone                    // checksums and scatter-gather off too
)

// addressOf returns the addresses of end i (0 or 1) of the ordinal-th link.
func addressOf(ordinal, i int) EndOptions {
	v4 := netip.AddrFrom4([4]byte{198, 18, byte(ordinal), byte(i + 1)})
	v6 := netip.AddrFrom16([16]byte{0x20, 0x01, 0x00, 0x02, 0, 0, 0, byte(ordinal), 15: byte(i + 1)})
	return EndOptions{netip.PrefixFrom(v4, 24), netip.PrefixFrom(v6, 64)}
}
