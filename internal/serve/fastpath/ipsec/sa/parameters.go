// Package sa is the security associations of IPsec (RFC 4301) and what they do
// to packets: ESP (RFC 4303) and AH (RFC 4302) in tunnel and transport mode, in
// UDP or not (RFC 3948). It does no I/O and allocates nothing per packet.
package sa

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/transform"
)

// Protocols and modes by name, as configured.
const (
	ESP       = "esp"
	AH        = "ah"
	Tunnel    = "tunnel"
	Transport = "transport"
)

// What becomes of the DF bit in an outer header of IPv4 (RFC 4301 8.1).
const (
	CopyDF  = "copy"
	SetDF   = "set"
	ClearDF = "clear"
)

// Parameters describe an association in one direction.
type Parameters struct {
	SPI      uint32        `json:"spi" yaml:"spi"`
	Protocol string        `json:"protocol" yaml:"protocol"` // ESP or AH; "" is ESP
	Mode     string        `json:"mode" yaml:"mode"`         // Tunnel or Transport; "" is Tunnel
	Source   netip.Addr    `json:"source" yaml:"source"`     // of the outer header
	Target   netip.Addr    `json:"target" yaml:"target"`
	Suite    string        `json:"suite" yaml:"suite"` // transform.Names; for AH a name of transform.NewMAC
	Key      transform.Key `json:"key" yaml:"key"`     // of encryption or of a combined mode, salt at its end
	AuthKey  transform.Key `json:"auth_key" yaml:"auth_key"`
	ESN      bool          `json:"esn" yaml:"esn"`             // extended sequence numbers
	Window   int           `json:"window" yaml:"window"`       // anti-replay window; 0 is DefaultWindow, -1 none
	Encap    Encap         `json:"udp" yaml:"udp"`             // zero: not in UDP
	DF       string        `json:"df" yaml:"df"`               // CopyDF, SetDF, ClearDF; "" is CopyDF
	DSCP     *uint8        `json:"dscp" yaml:"dscp"`           // of the outer header; nil copies the inner one's
	NoECN    bool          `json:"no_ecn" yaml:"no_ecn"`       // outer header says that it knows no ECN
	Align8   bool          `json:"align8" yaml:"align8"`       // AH with IPv4 padded as Linux wants it unless told otherwise
	HopLimit uint8         `json:"hop_limit" yaml:"hop_limit"` // of the outer header; 0 is 64
	MTU      int           `json:"mtu" yaml:"mtu"`             // of the path to the peer; 0 is 1500
	Soft     Lifetime      `json:"soft" yaml:"soft"`           // a warning to whoever makes new keys
	Hard     Lifetime      `json:"hard" yaml:"hard"`           // the end
}

// Encap is the UDP ports of an association behind NAT.
type Encap struct {
	Source uint16 `json:"source" yaml:"source"`
	Target uint16 `json:"target" yaml:"target"`
}

// Lifetime is what ends an association, whichever comes first; zeros never do.
type Lifetime struct {
	Packets uint64        `json:"packets" yaml:"packets"`
	Bytes   uint64        `json:"bytes" yaml:"bytes"` // of the packets inside
	Time    time.Duration `json:"time" yaml:"time"`
}

// Defaults.
const (
	DefaultWindow = 1024 // Linux's own 32 loses packets on any path that reorders
	defaultMTU    = 1500
	defaultTTL    = 64
	minSPI        = 256 // smaller ones are reserved (RFC 4303 2.1)
)

// fill sets what was left out and checks the rest.
func (p *Parameters) fill() error {
	for s, d := range map[*string]string{&p.Protocol: ESP, &p.Mode: Tunnel, &p.DF: CopyDF} {
		if *s == "" {
			*s = d
		}
	}
	if p.Window == 0 {
		p.Window = DefaultWindow
	}
	if p.HopLimit == 0 {
		p.HopLimit = defaultTTL
	}
	if p.MTU == 0 {
		p.MTU = defaultMTU
	}
	p.Source, p.Target = p.Source.Unmap(), p.Target.Unmap()
	switch {
	case p.SPI < minSPI:
		return fmt.Errorf("SPI %d: less than %d is reserved", p.SPI, minSPI)
	case p.Protocol != ESP && p.Protocol != AH:
		return fmt.Errorf("protocol %q: want %s or %s", p.Protocol, ESP, AH)
	case p.Mode != Tunnel && p.Mode != Transport:
		return fmt.Errorf("mode %q: want %s or %s", p.Mode, Tunnel, Transport)
	case p.DF != CopyDF && p.DF != SetDF && p.DF != ClearDF:
		return fmt.Errorf("df %q: want %s, %s or %s", p.DF, CopyDF, SetDF, ClearDF)
	case !p.Source.IsValid() || !p.Target.IsValid() || p.Source.Is4() != p.Target.Is4():
		return errors.New("source and target: want two addresses of one family")
	case p.Window < -1 || p.Window > MaxWindow:
		return fmt.Errorf("window %d: want 1 to %d, or -1 for none", p.Window, MaxWindow)
	case p.Window == -1 && p.ESN:
		return errors.New("extended sequence numbers need a window")
	case p.Protocol == AH && p.Encap != (Encap{}):
		return errors.New("AH cannot cross NAT in UDP (RFC 3948 section 1)")
	case (p.Encap.Source == 0) != (p.Encap.Target == 0):
		return errors.New("udp: want both ports")
	case p.DSCP != nil && *p.DSCP > 63:
		return fmt.Errorf("dscp %d: want at most 63", *p.DSCP)
	case p.MTU < 576 || p.MTU > 65535:
		return fmt.Errorf("mtu %d: want 576 to 65535", p.MTU)
	}
	return nil
}
