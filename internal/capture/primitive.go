package capture

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/wire/frame"
)

// primitive reads one comparison with its qualifiers.
func (p *filterParser) primitive() (Predicate, error) {
	var q qualifiers
	switch t := p.peek(); t {
	case "ip", "ip6", "icmp", "icmp6":
		p.at++
		return protocol(t), nil
	case "tcp", "udp":
		p.at++
		if n := p.peek(); n != "src" && n != "dst" && n != "port" && n != "portrange" {
			return protocol(t), nil
		}
		q.proto = t
	case "vlan":
		return p.vlan()
	case "less", "greater":
		return p.length(t)
	}
	if t := p.peek(); t == "src" || t == "dst" {
		q.dir = t
		p.at++
	}
	switch t := p.peek(); t {
	case "host", "net", "port", "portrange":
		q.kind = t
		p.at++
	default:
		if q.dir == "" && q.proto == "" {
			q = p.last
		} else {
			q.kind = "host"
		}
	}
	p.last = q
	return p.compare(q)
}

// compare reads the address or number that the qualifiers speak of.
func (p *filterParser) compare(q qualifiers) (Predicate, error) {
	t := p.next()
	switch q.kind {
	case "host", "net":
		prefix, err := netip.ParsePrefix(t)
		if q.kind == "host" || err != nil {
			var a netip.Addr
			if a, err = netip.ParseAddr(t); err == nil {
				prefix = netip.PrefixFrom(a, a.BitLen())
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s %q: want an address in numbers", q.kind, t)
		}
		in := func(a frame.Addr) bool { return prefix.Contains(a.Netip()) }
		return either(q.dir, func(k *frame.Packet) bool { return k.IPVersion != 0 && in(k.Src) }, func(k *frame.Packet) bool { return k.IPVersion != 0 && in(k.Dst) }), nil
	case "port", "portrange":
		lo, hi, err := ports(t)
		if err != nil {
			return nil, err
		}
		is := func(k *frame.Packet) bool {
			return (q.proto != "udp" && k.Proto == frame.ProtoTCP) || (q.proto != "tcp" && k.Proto == frame.ProtoUDP)
		}
		return either(q.dir, func(k *frame.Packet) bool { return is(k) && k.SrcPort >= lo && k.SrcPort <= hi },
			func(k *frame.Packet) bool { return is(k) && k.DstPort >= lo && k.DstPort <= hi }), nil
	}
	return nil, fmt.Errorf("%q is not a primitive this filter knows; capture with tcpdump's filter instead", t)
}

func ports(t string) (lo, hi uint16, err error) {
	a, b, ranged := strings.Cut(t, "-")
	if !ranged {
		b = a
	}
	x, err1 := strconv.ParseUint(a, 10, 16)
	y, err2 := strconv.ParseUint(b, 10, 16)
	if err1 != nil || err2 != nil {
		return 0, 0, fmt.Errorf("port %q: want a number", t)
	}
	return uint16(x), uint16(y), nil
}

func either(dir string, src, dst Predicate) Predicate {
	switch dir {
	case "src":
		return src
	case "dst":
		return dst
	}
	return func(k *frame.Packet) bool { return src(k) || dst(k) }
}

func protocol(name string) Predicate {
	switch name {
	case "ip":
		return func(k *frame.Packet) bool { return k.IPVersion == 4 }
	case "ip6":
		return func(k *frame.Packet) bool { return k.IPVersion == 6 }
	}
	n := map[string]uint8{"tcp": frame.ProtoTCP, "udp": frame.ProtoUDP, "icmp": frame.ProtoICMP, "icmp6": frame.ProtoICMPv6}[name]
	return func(k *frame.Packet) bool { return k.Proto == n }
}

func (p *filterParser) vlan() (Predicate, error) {
	p.at++
	id, err := strconv.ParseUint(p.peek(), 10, 12)
	if err != nil {
		return func(k *frame.Packet) bool { return k.VLAN != 0 }, nil
	}
	p.at++
	return func(k *frame.Packet) bool { return k.VLAN == uint16(id) }, nil
}

// length compares the frame's length (pcap-filter: less is "at most").
func (p *filterParser) length(which string) (Predicate, error) {
	p.at++
	n, err := strconv.Atoi(p.next())
	if err != nil {
		return nil, fmt.Errorf("%s: want a length", which)
	}
	if which == "less" {
		return func(k *frame.Packet) bool { return k.Headers+k.Payload <= n }, nil
	}
	return func(k *frame.Packet) bool { return k.Headers+k.Payload >= n }, nil
}
