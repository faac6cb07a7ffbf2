package filter

import "slices"

// block is a test in the graph of a whole filter: where its outcome leads.
type block struct {
	test
	id       int // the same for blocks with the same load, -1 where it sets memory
	yes, no  *block
	known    *fact
	reached  bool
	inA      int  // id of what A holds on entry, -1 if that differs
	keepsA   bool // A holds it already: nothing to load
	position int
}

// fact is the outcome of a test on the way to a block; the chain of parents
// holds the earlier ones. Facts of all ways to a block are the common part of
// their chains.
type fact struct {
	parent  *fact
	depth   int
	block   *block
	outcome bool
}

const (
	unknownLoad = -1
	maxFacts    = 64 // how far back a test's outcome is looked for
)

// builder turns a condition into blocks, the last one first.
type builder struct {
	blocks         []*block
	loads          map[string]int
	accept, reject *block
}

// build returns the block that c starts with.
func (g *builder) build(c *condition, yes, no *block) *block {
	switch c.kind {
	case kindAnd:
		return g.build(c.l, g.build(c.r, yes, no), no)
	case kindOr:
		return g.build(c.l, yes, g.build(c.r, yes, no))
	case kindNot:
		return g.build(c.l, no, yes)
	case kindAlways:
		return yes
	case kindNever:
		return no
	}
	b := &block{test: c.test, id: unknownLoad, yes: yes, no: no}
	if !c.test.sets {
		b.id = g.intern(c.test.load)
	}
	g.blocks = append(g.blocks, b)
	return b
}

func (g *builder) intern(load []Instruction) int {
	key := make([]byte, 0, 8*len(load))
	for _, in := range load {
		key = append(key, byte(in.Op), byte(in.Op>>8), byte(in.K), byte(in.K>>8), byte(in.K>>16), byte(in.K>>24))
	}
	id, ok := g.loads[string(key)]
	if !ok {
		id = len(g.loads)
		g.loads[string(key)] = id
	}
	return id
}

// thread leads every way past the tests whose outcome it already knows, and
// marks loads of what A holds. A skipped load has succeeded before with the
// same bytes, so that no verdict changes. Blocks come before those they lead
// to, so that all ways to a block are known when its turn comes.
func (g *builder) thread(root *block) {
	root.reached, root.inA = true, unknownLoad
	for _, b := range g.blocks {
		if !b.reached {
			continue
		}
		b.keepsA = b.id != unknownLoad && b.inA == b.id
		b.yes = b.follow(b.yes, true)
		b.no = b.follow(b.no, false)
	}
}

// follow returns where the way from b with that outcome really leads.
func (b *block) follow(to *block, outcome bool) *block {
	f := &fact{b.known, 1, b, outcome}
	if b.known != nil {
		f.depth = b.known.depth + 1
	}
	for to.yes != nil {
		result, known := f.decide(to)
		if !known {
			break
		}
		if result {
			to = to.yes
		} else {
			to = to.no
		}
	}
	if !to.reached {
		to.reached, to.known, to.inA = true, f, b.id
		return to
	}
	to.known = common(to.known, f)
	if to.inA != b.id {
		to.inA = unknownLoad
	}
	return to
}

// decide returns the outcome of b's test where the facts tell.
func (f *fact) decide(b *block) (outcome, known bool) {
	if b.id == unknownLoad {
		return false, false
	}
	for range maxFacts {
		if f == nil {
			break
		}
		if t := f.block; t.id == b.id && t.jump == b.jump {
			switch {
			case t.k == b.k:
				return f.outcome, true
			case f.outcome && t.jump == JumpEqual:
				return false, true // it equals another number
			}
		}
		f = f.parent
	}
	return false, false
}

func common(a, b *fact) *fact {
	for a != b {
		switch {
		case a == nil || b == nil:
			return nil
		case a.depth > b.depth:
			a = a.parent
		case b.depth > a.depth:
			b = b.parent
		default:
			a, b = a.parent, b.parent
		}
	}
	return a
}

// acceptAll is the verdict on a packet that passes: keep all of it.
const acceptAll = 0xffffffff

// assemble returns the code of a filter. persistent registers are cleared
// first, because the kernel refuses code that may read one before writing it.
func assemble(root *condition, persistent []uint32) []Instruction {
	g := builder{loads: map[string]int{}, accept: &block{}, reject: &block{}}
	start := g.build(root, g.accept, g.reject)
	slices.Reverse(g.blocks)
	var code []Instruction
	if len(persistent) > 0 {
		code = append(code, Instruction{Op: ClassLoad | ModeImmediate})
		for _, r := range persistent {
			code = append(code, Instruction{Op: ClassStore, K: r})
		}
	}
	if start.yes == nil { // accept or reject without a test
		return append(code, Instruction{Op: ClassReturn, K: map[bool]uint32{true: acceptAll}[start == g.accept]})
	}
	g.thread(start)
	g.blocks = slices.DeleteFunc(g.blocks, func(b *block) bool { return !b.reached })
	return g.emit(code)
}

// emit lays out the blocks in order. A conditional jump reaches 255
// instructions; a farther one takes the way over an unconditional jump behind
// its test.
func (g *builder) emit(code []Instruction) []Instruction {
	head := len(code)
	far := make([]bool, len(g.blocks))
	length := func(i int) int {
		b, n := g.blocks[i], 1
		if !b.keepsA {
			n += len(b.load)
		}
		if far[i] {
			n += 2
		}
		return n
	}
	for again := true; again; {
		again = false
		at := head
		for i, b := range g.blocks {
			b.position = at
			at += length(i)
		}
		g.accept.position, g.reject.position = at, at+1
		for i, b := range g.blocks {
			end := b.position + length(i)
			if !far[i] && max(b.yes.position, b.no.position)-end > 255 {
				far[i], again = true, true
			}
		}
	}
	for i, b := range g.blocks {
		if !b.keepsA {
			code = append(code, b.load...)
		}
		in := Instruction{Op: ClassJump | b.jump, K: b.k}
		next := len(code) + 1
		if !far[i] {
			in.Jt, in.Jf = uint8(b.yes.position-next), uint8(b.no.position-next)
			code = append(code, in)
			continue
		}
		in.Jf = 1
		code = append(code, in,
			Instruction{Op: ClassJump | Jump, K: uint32(b.yes.position - next - 1)},
			Instruction{Op: ClassJump | Jump, K: uint32(b.no.position - next - 2)})
	}
	return append(code, Instruction{Op: ClassReturn, K: acceptAll}, Instruction{Op: ClassReturn})
}
