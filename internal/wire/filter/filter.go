// Package filter compiles packet filter expressions as pcap-filter(7) defines
// them to the classic BPF machine's code (McCanne and Jacobson, "The BSD Packet
// Filter", 1993), which a Program runs over packets in memory, a Linux socket
// takes through SO_ATTACH_FILTER, and serve/inspect translates for XDP.
//
// A compiled filter gives libpcap's verdict on every packet, its surprises
// included: a load beyond the captured bytes rejects the packet also under
// "not", "vlan" and its like shift all that stands to the right of them, and
// tcp[...] reads IPv4 only.
package filter

import "fmt"

// Limits of an expression; Compile refuses what is larger.
const (
	MaxExpression   = 16 << 10 // bytes
	MaxInstructions = 4096     // what Linux takes (BPF_MAXINSNS)
	maxDepth        = 64       // parentheses, negations and operators inside one another
)

// Error says where in an expression Compile stopped, and why.
type Error struct {
	Column int // from 1, in bytes
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("filter: column %d: %s", e.Column, e.Reason) }

// Program is a compiled filter. It may be used by several goroutines.
type Program struct {
	code []Instruction
}

// Compile compiles an expression for packets that start as link type link says
// (frame.LinkEthernet, LinkSLL, LinkSLL2, LinkRaw and its variants, LinkNull,
// LinkLoop). The empty expression matches everything. Names of hosts and
// networks aren't looked up; those of ports and protocols come from a built-in
// table. Its errors are of type *Error.
func Compile(expression string, link uint16) (*Program, error) {
	if len(expression) > MaxExpression {
		return nil, &Error{MaxExpression + 1, fmt.Sprintf("an expression has up to %d bytes", MaxExpression)}
	}
	p := parser{lexer: lexer{src: expression}}
	p.setLink(link)
	p.advance()
	root := always
	if p.tok.kind != tokenEnd {
		root, _ = p.expression(0)
		if p.err == nil && p.tok.kind != tokenEnd {
			p.unexpected("and, or, or the end")
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	code := assemble(root, p.persistent)
	if len(code) > MaxInstructions {
		return nil, &Error{1, fmt.Sprintf("the expression takes %d instructions, and the kernel runs up to %d: split it", len(code), MaxInstructions)}
	}
	return &Program{code}, nil
}

// Match reports whether a packet passes. data is what was captured of it, wire
// its length on the wire.
func (p *Program) Match(data []byte, wire int) bool { return run(p.code, data, uint32(wire)) != 0 }

// Instructions returns a copy of the code. A packet passes where it returns
// anything but 0.
func (p *Program) Instructions() []Instruction { return append([]Instruction(nil), p.code...) }
