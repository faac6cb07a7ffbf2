package capture

import (
	"fmt"
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
