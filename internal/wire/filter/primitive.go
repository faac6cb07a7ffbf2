package filter

import "fmt"

// kind says what an address or number is.
type kind uint8

const (
	kindDefault kind = iota // host, with a direction before it
	kindHost
	kindNet
	kindPort
	kindPortrange
	kindProto
)

func (k kind) String() string {
	return [...]string{"host", "host", "net", "port", "portrange", "proto"}[k]
}

// qualifiers say what a value is compared with. given is false where there
// are none to take over.
type qualifiers struct {
	proto protocol
	dir   direction
	kind  kind
	given bool
}

// refused are words of pcap-filter(7) that have no meaning here.
var refused = map[string]string{
	"gateway":    "gateway compares a name's Ethernet with its IP address, and names aren't looked up: write ether host ADDRESS and not host ADDRESS",
	"protochain": "protochain follows headers in a loop, which the kernel doesn't run: test the header that you mean with ip6[6] and ip6[40]",
	"ifindex":    "ifindex isn't part of a packet: choose the interface instead",
	"llc":        "llc isn't known here: test ether[12:2] <= 1500",
	"radio":      "radio headers aren't among the link types known here",
	"on":         "on belongs to pflog captures, which aren't known here",
	"ifname":     "ifname belongs to pflog captures, which aren't known here",
	"rset":       "rset belongs to pflog captures, which aren't known here",
	"type":       "type belongs to IEEE 802.11 captures, which aren't known here",
	"subtype":    "subtype belongs to IEEE 802.11 captures, which aren't known here",
	"vpi":        "vpi belongs to ATM captures, which aren't known here",
	"vci":        "vci belongs to ATM captures, which aren't known here",
}

// primitive parses what begins with a word, unless that is a name.
func (p *parser) primitive(depth int) (*condition, qualifiers, bool) {
	word, column := p.tok.text, p.tok.column
	if reason, ok := refused[word]; ok {
		p.fail("%s", reason)
		return never, qualifiers{}, true
	}
	done := func(c *condition) (*condition, qualifiers, bool) { return c, qualifiers{}, true }
	switch word {
	case "less", "greater":
		p.advance()
		n := p.number(0xffffffff)
		length := []Instruction{{Op: ClassLoad | ModeLength}}
		if word == "greater" {
			return done(compare(length, JumpAtLeast, n))
		}
		return done(not(compare(length, JumpGreater, n)))
	case "byte":
		p.advance()
		return done(p.byteTest())
	case "inbound", "outbound":
		c := p.outbound(word)
		p.advance()
		if word == "inbound" {
			c = not(c)
		}
		return done(c)
	case "vlan", "mpls", "pppoes", "geneve", "vxlan":
		p.advance()
		id := p.optionalNumber()
		p.column = column
		return done(p.encapsulation(word, id))
	case "pppoed":
		p.advance()
		return done(p.linkType(typePPPoED))
	}
	q, ok := p.qualifiers()
	if !ok {
		return nil, q, false
	}
	switch {
	case p.tok.is("broadcast"):
		p.advance()
		return done(p.broadcast(q.proto))
	case p.tok.is("multicast"):
		p.advance()
		return done(p.multicast(q.proto))
	case !q.given:
		p.column = column
		return done(p.alone(q.proto))
	}
	return p.qualified(q, depth), q, true
}

// encapsulation goes into a tag, label or tunnel; id is -1 for any.
func (p *parser) encapsulation(word string, id int64) *condition {
	switch word {
	case "vlan":
		return p.vlan(id)
	case "mpls":
		return p.mpls(id)
	case "pppoes":
		return p.pppoes(id)
	case "geneve": // RFC 8926 3.4: the version is 0
		return p.tunnel(portGeneve, 0, 0xc0, id, p.geneve)
	}
	return p.tunnel(portVXLAN, 8, 0xff, id, p.vxlan) // RFC 7348 5: flag I
}

// qualifiers parses [PROTO] [src|dst|src or dst|src and dst] [KIND], of which
// something must be there. q.given is false for a protocol alone.
func (p *parser) qualifiers() (q qualifiers, ok bool) {
	if proto, found := protocolOf(p.tok.text); found {
		q.proto, ok = proto, true
		p.advance()
	}
	if p.tok.is("broadcast") || p.tok.is("multicast") {
		return q, true
	}
	if p.tok.is("src") || p.tok.is("dst") {
		q.dir, q.given, ok = p.direction(), true, true
	}
	for k := kindHost; k <= kindProto; k++ {
		if p.tok.is(k.String()) {
			if k == kindProto && q.dir != eitherWay {
				p.unexpected("a value: proto has no direction")
			}
			q.kind, q.given, ok = k, true, true
			p.advance()
			break
		}
	}
	if reason, refuse := refused[p.tok.text]; ok && refuse && p.tok.kind == tokenWord {
		p.fail("%s", reason)
	}
	return q, ok
}

// direction parses src, dst, or both joined by and or or.
func (p *parser) direction() direction {
	first := p.tok.text
	second, d := "dst", fromSource
	if first == "dst" {
		second, d = "src", toDestination
	}
	p.advance()
	if p.tok.is("and") || p.tok.is("or") {
		ahead := p.lexer
		if t, _ := ahead.next(); t.is(second) {
			if d = bothWays; p.tok.is("or") {
				d = eitherWay
			}
			p.advance()
			p.advance()
		}
	}
	return d
}

// qualified parses the value behind qualifiers: one, not one, or several in
// parentheses.
func (p *parser) qualified(q qualifiers, depth int) *condition {
	if !p.within64(depth) {
		return never
	}
	switch {
	case p.tok.is("not"):
		p.advance()
		return not(p.qualified(q, depth+1))
	case p.tok.is("("):
		p.advance()
		c, _ := p.operands(q, depth+1)
		p.expect(")")
		return c
	case q.kind == kindProto && p.tok.kind == tokenWord:
		p.tok.kind = tokenName // also without the backslash that libpcap wants
	}
	return p.value(q, "an address, number or name")
}

// byteTest parses N OP VALUE behind byte.
func (p *parser) byteTest() *condition {
	at := p.number(maxOffset)
	op := p.tok
	p.advance()
	v := p.number(255)
	load := field(p.header, at, SizeByte)
	if op.kind == tokenOperator {
		switch op.text {
		case "=":
			return compare(load, JumpEqual, v)
		case "<":
			return not(compare(load, JumpAtLeast, v))
		case ">":
			return compare(load, JumpGreater, v)
		case "&":
			return not(compare(append(load, Instruction{Op: ClassALU | And, K: v}), JumpEqual, 0))
		case "|":
			return not(compare(append(load, Instruction{Op: ClassALU | Or, K: v}), JumpEqual, 0))
		}
	}
	p.failAt(op.column, "want =, <, >, & or |, have %s", &op)
	return never
}

// number takes a number up to most.
func (p *parser) number(most uint32) uint32 {
	n := p.tok.number
	switch v, constant := constants[p.tok.text]; {
	case p.tok.kind == tokenWord && constant:
		n = v
	case p.tok.kind != tokenNumber:
		p.unexpected("a number")
	}
	if n > most {
		p.unexpected(fmt.Sprintf("a number up to %d", most))
	}
	p.advance()
	return n
}

// optionalNumber takes a number, also one in parentheses; -1 if none is there.
func (p *parser) optionalNumber() int64 {
	switch {
	case p.tok.kind == tokenNumber:
		return int64(p.number(0xffffffff))
	case p.tok.is("("):
		p.advance()
		n := p.number(0xffffffff)
		p.expect(")")
		return int64(n)
	}
	return -1
}
