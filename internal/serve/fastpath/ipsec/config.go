package ipsec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/sa"
	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/transform"
)

// Config is the policy database (RFC 4301 4.4.1) with the associations of its
// rules. It holds keys: Wipe it when it is done with.
type Config struct {
	Rules []Rule `yaml:"rules"` // the first that matches decides
}

// Actions of a rule.
const (
	Protect = "protect"
	Pass    = "bypass"
	Discard = "discard"
)

// Rule says what becomes of packets between local and remote addresses. What is
// left out matches everything.
type Rule struct {
	Name       string       `yaml:"name"`
	Action     string       `yaml:"action"` // "" is Protect
	Local      netip.Prefix `yaml:"local"`  // on our side: source of what leaves
	Remote     netip.Prefix `yaml:"remote"`
	Protocol   string       `yaml:"protocol"` // name or number
	LocalPort  uint16       `yaml:"local_port"`
	RemotePort uint16       `yaml:"remote_port"`
	With       *Peer        `yaml:"with"` // of Protect
}

// Peer is the other gateway or host, and what is common to the associations
// with it.
type Peer struct {
	Local    netip.Addr  `yaml:"local"`
	Remote   netip.Addr  `yaml:"remote"`
	Protocol string      `yaml:"protocol"` // sa.ESP or sa.AH; "" is ESP
	Mode     string      `yaml:"mode"`     // sa.Tunnel or sa.Transport; "" is tunnel
	Suite    string      `yaml:"suite"`    // transform.Names
	ESN      bool        `yaml:"esn"`
	Window   int         `yaml:"window"`
	Port     uint16      `yaml:"port"`        // ours for ESP in UDP; 0 is none
	PeerPort uint16      `yaml:"remote_port"` // theirs; 0 is the same
	DF       string      `yaml:"df"`
	DSCP     *uint8      `yaml:"dscp"`
	NoECN    bool        `yaml:"no_ecn"`
	Align8   bool        `yaml:"align8"` // AH with IPv4, for Linux without align4
	MTU      int         `yaml:"mtu"`
	Soft     sa.Lifetime `yaml:"soft"`
	Hard     sa.Lifetime `yaml:"hard"`
	Out      *Keys       `yaml:"out"`
	In       []Keys      `yaml:"in"` // during a change of keys the old ones beside the new
}

// Keys are what an association does not share with others.
type Keys struct {
	SPI     uint32        `yaml:"spi"`
	Key     transform.Key `yaml:"key"` // salt included
	AuthKey transform.Key `yaml:"auth_key"`
	Last    uint64        `yaml:"last"` // sequence number that was sent last, of an association taken over
}

// maxConfig bounds a file, in bytes.
const maxConfig = 4 << 20

// Parse reads a file in YAML, of which JSON is a part. Its errors show no line
// of the file, for that may hold a key.
func Parse(r io.Reader) (*Config, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxConfig))
	defer clear(text)
	if err != nil {
		return nil, fmt.Errorf("ipsec: read rules: %w", err)
	}
	c := &Config{}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(c); err != nil && !errors.Is(err, io.EOF) {
		c.Wipe()
		return nil, fmt.Errorf("ipsec: rules: %s", strings.TrimSpace(yaml.FormatError(err, false, false)))
	}
	return c, nil
}

// Wipe overwrites the keys.
func (c *Config) Wipe() {
	for _, r := range c.Rules {
		if r.With == nil {
			continue
		}
		for _, k := range r.With.In {
			k.wipe()
		}
		if r.With.Out != nil {
			r.With.Out.wipe()
		}
	}
}

func (k *Keys) wipe() {
	k.Key.Wipe()
	k.AuthKey.Wipe()
}

// parameters makes those of an association; the keys are shared with k.
func (p *Peer) parameters(k *Keys, out bool) sa.Parameters {
	q := sa.Parameters{SPI: k.SPI, Protocol: p.Protocol, Mode: p.Mode, Source: p.Local, Target: p.Remote, Suite: p.Suite, Key: k.Key, AuthKey: k.AuthKey,
		ESN: p.ESN, Window: p.Window, DF: p.DF, DSCP: p.DSCP, NoECN: p.NoECN, Align8: p.Align8, MTU: p.MTU, Soft: p.Soft, Hard: p.Hard}
	if p.Port != 0 {
		q.Encap = sa.Encap{Source: p.Port, Target: p.PeerPort}
		if p.PeerPort == 0 {
			q.Encap.Target = p.Port
		}
	}
	if !out {
		q.Source, q.Target = q.Target, q.Source
		q.Encap.Source, q.Encap.Target = q.Encap.Target, q.Encap.Source
	}
	return q
}

// protocols are those of rules by name (IANA).
var protocols = map[string]uint8{"": 0, "icmp": 1, "ipip": 4, "tcp": 6, "udp": 17, "gre": 47, "icmpv6": 58, "sctp": 132}

func protocolOf(name string) (uint8, error) {
	if n, ok := protocols[strings.ToLower(name)]; ok {
		return n, nil
	}
	n, err := strconv.ParseUint(name, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("protocol %q: want a number or a name such as tcp", name)
	}
	return uint8(n), nil
}
