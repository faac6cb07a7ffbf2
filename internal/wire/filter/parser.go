package filter

import "fmt"

// parser reads an expression and compiles it as it goes: vlan and its like
// change what stands to their right, so that the order is that of the text.
type parser struct {
	lexer
	compiler
	tok      token
	farthest *Error // of readings that were given up
}

func (p *parser) failAt(column int, format string, args ...any) {
	if p.err == nil {
		p.err = &Error{column, fmt.Sprintf(format, args...)}
	}
}

// unexpected says what should stand where the current token does.
func (p *parser) unexpected(want string) {
	p.failAt(p.tok.column, "want %s, have %s", want, &p.tok)
}

func (p *parser) advance() {
	if p.err != nil {
		p.tok = token{column: p.tok.column}
		return
	}
	t, err := p.lexer.next()
	p.tok, p.column = t, t.column
	if err != nil {
		p.failAt(t.column, "%v", err)
	}
}

func (p *parser) expect(text string) {
	if !p.tok.is(text) {
		p.unexpected(fmt.Sprintf("%q", text))
	}
	p.advance()
}

// within64 fails where an expression is nested too deeply.
func (p *parser) within64(depth int) bool {
	if depth > maxDepth {
		p.failAt(p.tok.column, "nested more than %d deep", maxDepth)
	}
	return p.err == nil
}

// expression parses operands joined by and and or, which have the same rank.
// It returns the qualifiers that a bare number behind it would take.
func (p *parser) expression(depth int) (*condition, qualifiers) {
	return p.operands(qualifiers{}, depth)
}

// operands is an expression whose first operand may be bare, because q comes
// from what stands before a parenthesis.
func (p *parser) operands(q qualifiers, depth int) (*condition, qualifiers) {
	left, q := p.operand(q, depth)
	for p.err == nil && (p.tok.is("and") || p.tok.is("or")) {
		join := and
		if p.tok.is("or") {
			join = or
		}
		p.advance()
		var right *condition
		right, q = p.operand(q, depth)
		left = join(left, right)
	}
	return left, q
}

// operand parses a primitive, a relation, not, a parenthesis, or a bare
// address, number or name that takes the qualifiers q.
func (p *parser) operand(q qualifiers, depth int) (*condition, qualifiers) {
	if !p.within64(depth) {
		return never, q
	}
	if c, ok := p.tryRelation(depth); ok {
		return c, qualifiers{}
	}
	switch t := p.tok; {
	case t.is("not"):
		p.advance()
		c, q := p.operand(q, depth+1)
		return not(c), q
	case t.is("("):
		p.advance()
		c, _ := p.operands(q, depth+1)
		p.expect(")")
		return c, q
	case t.kind == tokenWord:
		if c, q, ok := p.primitive(depth); ok {
			return c, q
		}
	}
	return p.value(q, "a primitive such as host ADDRESS, port NUMBER or tcp"), q
}

// tryRelation parses an arithmetic comparison. Only what follows tells it from
// a parenthesis or a bare number, so that it may have to be given up.
func (p *parser) tryRelation(depth int) (*condition, bool) {
	switch t := p.tok; {
	case t.kind == tokenNumber || t.is("(") || t.is("-"):
	case t.kind == tokenWord:
		_, constant := constants[t.text]
		_, proto := protocolOf(t.text)
		if !constant && !t.is("len") && !t.is("length") && !(proto && p.bracketFollows()) {
			return nil, false
		}
	default:
		return nil, false
	}
	lexer, tok := p.lexer, p.tok
	l := p.arithmetic(0, depth)
	jump, opposite, ok := relational(p.tok)
	if p.err == nil && !ok && tok.kind == tokenWord {
		p.unexpected("a comparison (=, !=, <, <=, >, >=)")
	}
	if p.err == nil && ok {
		column := p.tok.column
		p.advance()
		r := p.arithmetic(0, depth)
		p.column = column
		return p.relation(l, r, jump, opposite), true
	}
	if tok.kind == tokenWord {
		return never, true // nothing else begins so
	}
	if p.err != nil && (p.farthest == nil || p.farthest.Column < p.err.Column) {
		p.farthest = p.err
	}
	p.lexer, p.tok, p.column, p.err = lexer, tok, tok.column, nil
	return nil, false
}

func (p *parser) bracketFollows() bool {
	ahead := p.lexer
	t, _ := ahead.next()
	return t.is("[")
}

// relational returns the jump for a comparison, or that for its opposite.
func relational(t token) (jump uint16, opposite, ok bool) {
	if t.kind != tokenOperator {
		return 0, false, false
	}
	switch t.text {
	case "=":
		return JumpEqual, false, true
	case "!=":
		return JumpEqual, true, true
	case ">":
		return JumpGreater, false, true
	case "<=":
		return JumpGreater, true, true
	case ">=":
		return JumpAtLeast, false, true
	case "<":
		return JumpAtLeast, true, true
	}
	return 0, false, false
}
