package filter

// number is an arithmetic expression on 32-bit numbers without sign.
type number struct {
	kind  numberKind
	op    uint16 // Add and its like
	value uint32 // a constant
	l, r  *number
	proto protocol // a load's
	size  uint16
}

type numberKind uint8

const (
	numberConstant numberKind = iota
	numberLength              // of the packet on the wire
	numberNegative            // -l
	numberBinary              // l op r
	numberLoad                // bytes of proto's header at offset l
)

// arithmetic parses an operand and the operators that bind more tightly than
// least. % and ^ have no rank in libpcap's grammar, so that there they always
// take what follows, whatever stands before.
func (p *parser) arithmetic(least, depth int) *number {
	left := p.primary(depth)
	for p.err == nil && p.tok.kind == tokenOperator {
		op, rank, ok := operator(p.tok.text)
		if !ok || rank <= least {
			break
		}
		column := p.tok.column
		p.advance()
		right := rank
		if rank == unranked {
			right = 0
		}
		left = p.fold(&number{kind: numberBinary, op: op, l: left, r: p.arithmetic(right, depth+1)}, column)
	}
	return left
}

const (
	unary    = 6 // rank of a minus sign
	unranked = 7
)

func operator(text string) (op uint16, rank int, ok bool) {
	switch text {
	case "|":
		return Or, 1, true
	case "&":
		return And, 2, true
	case "<<":
		return Left, 3, true
	case ">>":
		return Right, 3, true
	case "+":
		return Add, 4, true
	case "-":
		return Subtract, 4, true
	case "*":
		return Multiply, 5, true
	case "/":
		return Divide, 5, true
	case "%":
		return Modulo, unranked, true
	case "^":
		return Xor, unranked, true
	}
	return 0, 0, false
}

// primary parses a number, len, -n, (n) or PROTO[offset:size].
func (p *parser) primary(depth int) *number {
	none := &number{}
	if !p.within64(depth) {
		return none
	}
	t := p.tok
	switch {
	case t.kind == tokenNumber:
		p.advance()
		return &number{value: t.number}
	case t.is("len") || t.is("length"):
		p.advance()
		return &number{kind: numberLength}
	case t.is("-"):
		p.advance()
		return p.fold(&number{kind: numberNegative, l: p.arithmetic(unary, depth+1)}, t.column)
	case t.is("("):
		p.advance()
		n := p.arithmetic(0, depth+1)
		p.expect(")")
		return n
	case t.kind == tokenWord:
		if v, ok := constants[t.text]; ok {
			p.advance()
			return &number{value: v}
		}
		if proto, ok := protocolOf(t.text); ok {
			p.advance()
			return p.bracket(proto, depth)
		}
	}
	p.unexpected("a number, len, or a protocol with [")
	return none
}

// bracket parses [offset:size] behind a protocol.
func (p *parser) bracket(proto protocol, depth int) *number {
	if p.tok.is("[") && !protocols[proto].bytes {
		p.fail("no bytes can be read behind %s", proto)
	}
	p.expect("[")
	n := &number{kind: numberLoad, proto: proto, size: SizeByte, l: p.arithmetic(0, depth+1)}
	if p.tok.is(":") {
		p.advance()
		switch {
		case p.tok.kind != tokenNumber || p.tok.number != 1 && p.tok.number != 2 && p.tok.number != 4:
			p.unexpected("a size of 1, 2 or 4 bytes")
		case p.tok.number == 2:
			n.size = SizeHalf
		case p.tok.number == 4:
			n.size = SizeWord
		}
		p.advance()
	}
	p.expect("]")
	return n
}

// fold computes what is constant, and refuses what can't be computed.
func (p *parser) fold(n *number, column int) *number {
	if n.kind == numberBinary && n.r.kind == numberConstant {
		switch {
		case n.r.value == 0 && (n.op == Divide || n.op == Modulo):
			p.failAt(column, "division by zero")
		case n.r.value > 31 && (n.op == Left || n.op == Right):
			p.failAt(column, "a shift by more than 31 bits")
		}
	}
	if p.err != nil || n.l.kind != numberConstant || n.r != nil && n.r.kind != numberConstant {
		return n
	}
	op, v := uint16(Negate), uint32(0)
	if n.r != nil {
		op, v = n.op, n.r.value
	}
	value, _ := compute(op, n.l.value, v)
	return &number{value: value}
}
