package filter

// condition is a tree of tests. and, or and not never change their operands,
// so that trees may share parts.
type condition struct {
	kind conditionKind
	l, r *condition
	test test
}

type conditionKind uint8

const (
	kindTest conditionKind = iota
	kindAnd
	kindOr
	kindNot
	kindAlways
	kindNever
)

// test runs load, which leaves a number in A (and with SourceX another in X),
// and jumps.
type test struct {
	load []Instruction
	jump uint16 // JumpEqual and its like, perhaps with SourceX
	k    uint32
	// sets says that load writes memory that later tests read.
	sets bool
}

var (
	always = &condition{kind: kindAlways}
	never  = &condition{kind: kindNever}
)

func and(l, r *condition) *condition {
	switch {
	case l.kind == kindNever || r.kind == kindAlways:
		return l
	case r.kind == kindNever || l.kind == kindAlways:
		return r
	}
	return &condition{kind: kindAnd, l: l, r: r}
}

func or(l, r *condition) *condition {
	switch {
	case l.kind == kindAlways || r.kind == kindNever:
		return l
	case r.kind == kindAlways || l.kind == kindNever:
		return r
	}
	return &condition{kind: kindOr, l: l, r: r}
}

func not(c *condition) *condition {
	switch c.kind {
	case kindAlways:
		return never
	case kindNever:
		return always
	case kindNot:
		return c.l
	}
	return &condition{kind: kindNot, l: c}
}

// compare tests a number that load brings into A against a constant.
func compare(load []Instruction, jump uint16, k uint32) *condition {
	return &condition{test: test{load: load, jump: jump, k: k}}
}
