package filter

import "slices"

// relation is the test l JUMP r, or its opposite. The protocols that l and r
// read from are tested first. Of an operator's right operand they are not, as
// in libpcap: there it is up to the author.
func (c *compiler) relation(l, r *number, jump uint16, opposite bool) *condition {
	var is *condition
	switch {
	case l.kind == numberConstant && r.kind == numberConstant:
		is = never
		if in := []Instruction{{Op: ClassLoad, K: l.value}, {Op: ClassJump | jump, Jf: 1, K: r.value}, {Op: ClassReturn, K: 1}, {Op: ClassReturn}}; run(in, nil, 0) != 0 {
			is = always
		}
	case r.kind == numberConstant:
		is = compare(c.evaluate(l), jump, r.value)
	default:
		is = compare(c.pair(l, r), jump|SourceX, 0)
	}
	if opposite {
		is = not(is)
	}
	return and(c.carried(r), and(c.carried(l), is))
}

// carried tests for the protocols that n reads from.
func (c *compiler) carried(n *number) *condition {
	switch n.kind {
	case numberNegative, numberBinary:
		return c.carried(n.l)
	case numberLoad:
		return and(c.carried(n.l), c.readable(n.proto))
	}
	return always
}

// readable tests that a packet has the header that brackets read: a transport
// header behind IPv4 in a first fragment, ICMPv6 right behind IPv6.
func (c *compiler) readable(p protocol) *condition {
	d := &protocols[p]
	switch d.layer {
	case layerNone:
		return always
	case layerLink:
		return c.alone(p)
	case layerIP6:
		return and(c.linkType(typeIPv6), c.overIPv6().protocol(d.ids[0]))
	}
	return and(and(c.linkType(typeIPv4), c.overIPv4().protocol(d.ids[0])), c.firstFragment())
}

// evaluate brings n into A.
func (c *compiler) evaluate(n *number) []Instruction {
	switch n.kind {
	case numberConstant:
		return []Instruction{{Op: ClassLoad | ModeImmediate, K: n.value}}
	case numberLength:
		return []Instruction{{Op: ClassLoad | ModeLength}}
	case numberNegative:
		return append(c.evaluate(n.l), Instruction{Op: ClassALU | Negate})
	case numberBinary:
		if n.r.kind == numberConstant {
			return append(c.evaluate(n.l), Instruction{Op: ClassALU | n.op, K: n.r.value})
		}
		return append(c.pair(n.l, n.r), Instruction{Op: ClassALU | n.op | SourceX})
	}
	return c.bytesOf(n)
}

// pair brings l into A and r into X.
func (c *compiler) pair(l, r *number) []Instruction {
	code := c.evaluate(l)
	t := c.allocate()
	code = append(code, Instruction{Op: ClassStore, K: t})
	code = append(code, c.evaluate(r)...)
	c.used[t] = false
	return append(code, Instruction{Op: ClassMove}, Instruction{Op: ClassLoad | ModeMemory, K: t})
}

// bytesOf loads bytes of a header.
func (c *compiler) bytesOf(n *number) []Instruction {
	o, behindIP := c.ip(), false
	switch protocols[n.proto].layer {
	case layerNone:
		o = c.header
	case layerIP6:
		o = o.plus(ipv6Header)
	case layerIP, layerBoth:
		behindIP = true
	}
	if n.l.kind == numberConstant {
		if n.l.value > maxOffset {
			c.fail("offset %d is beyond any packet", n.l.value)
		}
		if behindIP {
			return c.overIPv4().field(n.l.value, n.size)
		}
		return field(o, n.l.value, n.size)
	}
	code := c.evaluate(n.l)
	var start []Instruction // into X
	switch {
	case behindIP:
		start = c.ipHeaderLength()
	case o.register != noRegister:
		start = []Instruction{{Op: ClassLoadX | ModeMemory, K: uint32(o.register)}}
	}
	if start != nil {
		t := c.allocate() // start may need A
		code = slices.Concat(code, []Instruction{{Op: ClassStore, K: t}}, start,
			[]Instruction{{Op: ClassLoad | ModeMemory, K: t}, {Op: ClassALU | Add | SourceX}})
		c.used[t] = false
	}
	return append(code, Instruction{Op: ClassMove}, Instruction{Op: ClassLoad | ModeIndirect | n.size, K: o.base})
}

// maxOffset bounds constant offsets: the kernel gives larger ones meanings of
// its own (SKF_AD_OFF), and no capture has such packets.
const maxOffset = 1 << 20

// allocate returns a free register.
func (c *compiler) allocate() uint32 {
	for i := range c.used {
		if !c.used[i] {
			c.used[i] = true
			return uint32(i)
		}
	}
	c.fail("too many intermediate results: write the expression in parts")
	return 0
}
