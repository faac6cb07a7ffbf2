package ipsec

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/sa"
	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/transform"
)

// Kernel reads the policies and associations of the kernel's own IPsec (ip
// xfrm), as any key exchange daemon keeps them there. A kernel that has none
// wraps errors.ErrUnsupported.
func Kernel() (*Config, error) {
	policies, err := netlink.XfrmPolicyList(netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("ipsec: the kernel's policies: %w", err)
	}
	states, err := netlink.XfrmStateList(netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("ipsec: the kernel's associations: %w", err)
	}
	defer func() {
		for _, s := range states {
			for _, a := range []*netlink.XfrmStateAlgo{s.Aead, s.Auth, s.Crypt} {
				if a != nil {
					clear(a.Key)
				}
			}
		}
	}()
	return fromKernel(policies, states)
}

// fromKernel makes rules of what netlink lists. Policies of greater priority
// numbers come later (ip-xfrm(8)).
func fromKernel(policies []netlink.XfrmPolicy, states []netlink.XfrmState) (*Config, error) {
	slices.SortStableFunc(policies, func(a, b netlink.XfrmPolicy) int { return a.Priority - b.Priority })
	c := &Config{}
	for _, p := range policies {
		if p.Dir != netlink.XFRM_DIR_OUT { // those in and forward mirror it
			continue
		}
		r := Rule{Name: fmt.Sprintf("kernel %d", p.Index), Local: prefixOf(p.Src), Remote: prefixOf(p.Dst), LocalPort: uint16(p.SrcPort), RemotePort: uint16(p.DstPort)}
		if p.Proto != 0 {
			r.Protocol = fmt.Sprint(int(p.Proto))
		}
		switch {
		case p.Action == netlink.XFRM_POLICY_BLOCK:
			r.Action = Discard
		case len(p.Tmpls) == 0:
			r.Action = Pass
		case len(p.Tmpls) > 1:
			return nil, fmt.Errorf("ipsec: policy %s: bundles of several associations: %w", r.Name, errors.ErrUnsupported)
		default:
			peer, err := peerOf(p.Tmpls[0], states)
			if err != nil {
				c.Wipe()
				return nil, fmt.Errorf("ipsec: policy %s: %w", r.Name, err)
			}
			r.With = peer
		}
		c.Rules = append(c.Rules, r)
	}
	return c, nil
}

// peerOf collects the associations of a policy's template: the newest of those
// out, and all in.
func peerOf(t netlink.XfrmPolicyTmpl, states []netlink.XfrmState) (*Peer, error) {
	peer := &Peer{}
	var err error
	for _, s := range states {
		if s.Proto != t.Proto || s.Mode != t.Mode || t.Reqid != 0 && s.Reqid != t.Reqid {
			continue
		}
		out := s.Src.Equal(t.Src) && s.Dst.Equal(t.Dst)
		in := s.Src.Equal(t.Dst) && s.Dst.Equal(t.Src)
		if !out && !in {
			continue
		}
		k := Keys{SPI: uint32(s.Spi)}
		suite, e := keysOf(s, &k)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("association %#x: %w", s.Spi, e))
			continue
		}
		if out && (peer.Out == nil || s.Statistics.AddTime >= newest(states, peer.Out.SPI)) {
			describe(peer, s, suite)
			// A sequence number for each packet; netlink shows no extended one.
			if k.Last = s.Statistics.Packets; s.Replay != nil {
				k.Last = max(k.Last, uint64(s.Replay.OSeq))
			}
			peer.Out = &k
		} else if in {
			peer.In = append(peer.In, k)
			if peer.Out == nil {
				s.Src, s.Dst = s.Dst, s.Src
				if s.Encap != nil {
					e := *s.Encap
					e.SrcPort, e.DstPort = e.DstPort, e.SrcPort
					s.Encap = &e
				}
				describe(peer, s, suite)
			}
		}
	}
	if peer.Out == nil && len(peer.In) == 0 && err == nil {
		peer.Local, peer.Remote = addrOf(t.Src), addrOf(t.Dst) // the daemon has made none yet
	}
	return peer, err
}

func newest(states []netlink.XfrmState, spi uint32) uint64 {
	for _, s := range states {
		if uint32(s.Spi) == spi {
			return s.Statistics.AddTime
		}
	}
	return 0
}

// describe takes over what an outbound association says of the peer.
func describe(p *Peer, s netlink.XfrmState, suite string) {
	p.Local, p.Remote, p.Suite, p.ESN, p.Window = addrOf(s.Src), addrOf(s.Dst), suite, s.ESN, min(s.ReplayWindow, sa.MaxWindow)
	if p.Mode = sa.Tunnel; s.Mode == netlink.XFRM_MODE_TRANSPORT {
		p.Mode = sa.Transport
	}
	if p.Protocol = sa.ESP; s.Proto == netlink.XFRM_PROTO_AH {
		p.Protocol = sa.AH
	}
	if s.Encap != nil {
		p.Port, p.PeerPort = uint16(s.Encap.SrcPort), uint16(s.Encap.DstPort)
	}
	seconds := func(n uint64) time.Duration { return time.Duration(min(n, 1<<32)) * time.Second }
	p.Soft = sa.Lifetime{Packets: limit(s.Limits.PacketSoft), Bytes: limit(s.Limits.ByteSoft), Time: seconds(s.Limits.TimeSoft)}
	p.Hard = sa.Lifetime{Packets: limit(s.Limits.PacketHard), Bytes: limit(s.Limits.ByteHard), Time: seconds(s.Limits.TimeHard)}
}

// limit takes the kernel's infinity for ours.
func limit(n uint64) uint64 {
	if n == math.MaxUint64 {
		return 0
	}
	return n
}

// keysOf copies the keys of an association and names its suite.
func keysOf(s netlink.XfrmState, k *Keys) (suite string, err error) {
	switch {
	case s.Aead != nil:
		k.Key = transform.NewKey(s.Aead.Key)
		names := map[string]string{"rfc4106(gcm(aes))20": "aes128gcm16", "rfc4106(gcm(aes))36": "aes256gcm16",
			"rfc4543(gcm(aes))20": "aes128gmac", "rfc4543(gcm(aes))36": "aes256gmac", "rfc7539esp(chacha20,poly1305)36": "chacha20poly1305"}
		if suite = names[fmt.Sprint(s.Aead.Name, len(s.Aead.Key))]; suite == "" || s.Aead.ICVLen != 128 {
			return "", fmt.Errorf("%s with a key of %d bits and an ICV of %d: %w", s.Aead.Name, 8*len(s.Aead.Key), s.Aead.ICVLen, errors.ErrUnsupported)
		}
		return suite, nil
	case s.Auth != nil:
		k.AuthKey = transform.NewKey(s.Auth.Key)
		hash := map[string]string{"hmac(sha1)96": "sha1", "hmac(sha256)128": "sha256", "hmac(sha384)192": "sha384", "hmac(sha512)256": "sha512"}[fmt.Sprint(s.Auth.Name, s.Auth.TruncateLen)]
		if hash == "" {
			return "", fmt.Errorf("%s cut to %d bits: %w", s.Auth.Name, s.Auth.TruncateLen, errors.ErrUnsupported)
		}
		if s.Proto == netlink.XFRM_PROTO_AH {
			return hash, nil
		}
		if s.Crypt == nil || s.Crypt.Name == "ecb(cipher_null)" {
			return "null-" + hash, nil
		}
		k.Key = transform.NewKey(s.Crypt.Key)
		if s.Crypt.Name != "cbc(aes)" {
			return "", fmt.Errorf("%s: %w", s.Crypt.Name, errors.ErrUnsupported)
		}
		return fmt.Sprintf("aes%d-%s", 8*len(s.Crypt.Key), hash), nil
	}
	return "", fmt.Errorf("no authentication: %w", errors.ErrUnsupported)
}

func prefixOf(n *net.IPNet) netip.Prefix {
	if n == nil {
		return netip.Prefix{}
	}
	a, _ := netip.AddrFromSlice(n.IP)
	ones, _ := n.Mask.Size()
	if a.Is4In6() && len(n.Mask) == net.IPv6len {
		ones -= 96
	}
	return netip.PrefixFrom(a.Unmap(), ones)
}

func addrOf(ip net.IP) netip.Addr {
	a, _ := netip.AddrFromSlice(ip)
	return a.Unmap()
}
