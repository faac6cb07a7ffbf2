package capture

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/wire/frame"
)

// Predicate decides whether a decoded frame counts.
type Predicate func(*frame.Packet) bool

// CompileFilter compiles the commonest primitives of pcap-filter(7):
//
//	[src|dst] host ADDR, [src|dst] net ADDR/LEN, [src|dst] port N, [src|dst] portrange N-M,
//	the last two behind tcp or udp too, ip, ip6, tcp, udp, icmp, icmp6, vlan [ID], less N, greater N
//
// joined by and (&&), or (||), not (!) and parentheses, with "and" and "or" of
// equal precedence from left to right as there. Numbers without a qualifier
// ("port 20 or 21") take the last one's. Anything else is an error: names are
// not looked up, and offsets (tcp[13]) are not known. Frames without a decoded
// transport header never reach a filter.
func CompileFilter(s string) (Predicate, error) {
	p := &filterParser{tokens: filterTokens(s)}
	if len(p.tokens) == 0 {
		return nil, nil
	}
	f, err := p.expression(0)
	if err == nil && p.at < len(p.tokens) {
		err = fmt.Errorf("unexpected %q", p.tokens[p.at])
	}
	if err != nil {
		return nil, fmt.Errorf("filter %q: %w", s, err)
	}
	return f, nil
}

func filterTokens(s string) []string {
	for _, op := range []string{"(", ")", "&&", "||"} {
		s = strings.ReplaceAll(s, op, " "+op+" ")
	}
	var out []string
	for _, t := range strings.Fields(s) {
		for strings.HasPrefix(t, "!") {
			out, t = append(out, "not"), t[1:]
		}
		switch t {
		case "":
			continue
		case "&&":
			t = "and"
		case "||":
			t = "or"
		}
		out = append(out, t)
	}
	return out
}

// maxNest bounds parentheses and negations.
const maxNest = 64

type filterParser struct {
	tokens []string
	at     int
	last   qualifiers // for a number or address without its own
}

// qualifiers say what an address or number is compared with.
type qualifiers struct{ proto, dir, kind string }

func (p *filterParser) peek() string {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return ""
}

func (p *filterParser) next() string {
	t := p.peek()
	p.at++
	return t
}

func (p *filterParser) expression(depth int) (Predicate, error) {
	left, err := p.term(depth)
	for err == nil {
		switch p.peek() {
		case "and":
			p.at++
			var right Predicate
			a := left
			right, err = p.term(depth)
			left = func(k *frame.Packet) bool { return a(k) && right(k) }
		case "or":
			p.at++
			var right Predicate
			a := left
			right, err = p.term(depth)
			left = func(k *frame.Packet) bool { return a(k) || right(k) }
		default:
			return left, nil
		}
	}
	return nil, err
}

func (p *filterParser) term(depth int) (Predicate, error) {
	if depth > maxNest {
		return nil, fmt.Errorf("nested more than %d deep", maxNest)
	}
	switch p.peek() {
	case "not":
		p.at++
		f, err := p.term(depth + 1)
		return func(k *frame.Packet) bool { return !f(k) }, err
	case "(":
		p.at++
		f, err := p.expression(depth + 1)
		if err == nil && p.next() != ")" {
			err = fmt.Errorf("want )")
		}
		return f, err
	}
	return p.primitive()
}

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
