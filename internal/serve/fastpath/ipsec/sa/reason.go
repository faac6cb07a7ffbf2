package sa

import "fmt"

// Reason says what became of a packet.
type Reason uint8

// The reasons. OK comes first; those up to ToStack are no faults of a packet:
// it is somebody else's.
const (
	OK Reason = iota
	NotIPsec
	IKE
	KeepAlive
	Bypass
	ToStack = Bypass
)

// Faults, by where they are found.
const (
	Malformed Reason = iota + ToStack + 1
	Fragment
	NoSA
	Mismatch
	Short
	Replayed
	TooOld
	Authentication
	Padding
	NextHeader
	Dummy
	Congestion
	Expired
	Exhausted
	TooBig
	NoPolicy
	Discarded
	Reasons // how many there are
)

// descriptions name and explain the reasons, in their order.
var descriptions = [Reasons][2]string{
	OK:             {"ok", "protected or opened"},
	NotIPsec:       {"not-ipsec", "neither ESP nor AH"},
	IKE:            {"ike", "key exchange behind a non-ESP marker (RFC 3948 2.2)"},
	KeepAlive:      {"keep-alive", "NAT keep-alive (RFC 3948 2.3)"},
	Bypass:         {"bypass", "policy lets it pass as it is"},
	Malformed:      {"malformed", "no valid IP header, or a source route"},
	Fragment:       {"fragment", "a fragment: ESP and AH are opened whole only (RFC 4303 3.4.1)"},
	NoSA:           {"no-sa", "no association with this SPI (RFC 4303 3.4.2)"},
	Mismatch:       {"mismatch", "in UDP where the association is not, or the other way round; another protocol or address"},
	Short:          {"short", "shorter than its headers, or not a multiple of the cipher's block"},
	Replayed:       {"replayed", "this sequence number came before (RFC 4303 3.4.3)"},
	TooOld:         {"too-old", "sequence number left of the anti-replay window"},
	Authentication: {"icv", "integrity check value is wrong"},
	Padding:        {"padding", "padding is not 1, 2, 3... or longer than the packet (RFC 4303 2.4)"},
	NextHeader:     {"next-header", "tunnel with something else than an IP packet in it"},
	Dummy:          {"dummy", "dummy packet of a peer that hides its traffic (RFC 4303 2.6)"},
	Congestion:     {"congestion", "congestion marked on a packet whose sender does not know ECN (RFC 6040 4.2)"},
	Expired:        {"expired", "the association's hard lifetime is over (RFC 4301 4.4.2.1)"},
	Exhausted:      {"exhausted", "sequence numbers used up (RFC 4303 3.3.3)"},
	TooBig:         {"too-big", "longer than the path takes once protected (RFC 4301 8.2)"},
	NoPolicy:       {"no-policy", "no policy is for it, or it came by an association of another one (RFC 4301 5.2)"},
	Discarded:      {"discarded", "policy says discard"},
}

// String returns the name, as it is in metrics.
func (r Reason) String() string { return descriptions[r][0] }

// Help explains it in a line.
func (r Reason) Help() string { return descriptions[r][1] }

// MarshalText writes the name.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a name.
func (r *Reason) UnmarshalText(text []byte) error {
	for i := range descriptions {
		if descriptions[i][0] == string(text) {
			*r = Reason(i)
			return nil
		}
	}
	return fmt.Errorf("reason %q: unknown", text)
}
