package inspect

import (
	"fmt"

	"github.com/cilium/ebpf/asm"

	"github.com/linerate/linerate/internal/wire/filter"
)

// Registers of the translated filter. The first three hold its arguments; none
// is one that a called function must preserve, so that entry and exit are free.
const (
	regData   = asm.R1
	regEnd    = asm.R2
	regLength = asm.R3
	regA      = asm.R0
	regX      = asm.R5
	regTemp   = asm.R4
)

// maxVariable bounds an offset known at run time only: the verifier keeps no
// track of packet offsets beyond 16 bits (MAX_PACKET_OFF).
const maxVariable = 0xff00

// translator turns classic BPF into the eBPF function
//
//	int filter(void *data, void *end, __u32 length)
//
// that returns 0 for frames that don't pass. A load beyond end rejects.
type translator struct {
	out     asm.Instructions
	name    string // of the function; labels are made of it
	more    int
	rejects bool // something jumps to the end that rejects
}

// translate returns the function; its first instruction bears the name.
func translate(name string, code []filter.Instruction) (asm.Instructions, error) {
	t := &translator{name: name}
	t.add(asm.Mov.Imm(regA, 0), asm.Mov.Imm(regX, 0)) // the classic machine starts with zeros
	reached := reachable(code)
	for i, in := range code {
		if !reached[i] {
			continue // the kernel refuses code that no way leads to
		}
		from := len(t.out)
		if err := t.instruction(i, in); err != nil {
			return nil, err
		}
		t.out[from] = t.out[from].WithSymbol(t.label(i))
	}
	if t.rejects {
		t.add(asm.Mov.Imm(regA, 0).WithSymbol(t.reject()), asm.Return())
	}
	t.out[0] = t.out[0].WithSymbol(name)
	return t.out, nil
}

// reachable marks the instructions that some way leads to. All jumps go forward.
func reachable(code []filter.Instruction) []bool {
	reached := make([]bool, len(code)+1)
	reached[0] = true
	for i, in := range code {
		switch {
		case !reached[i] || in.Op&7 == filter.ClassReturn:
		case in.Op == filter.ClassJump|filter.Jump:
			reached[min(i+1+int(in.K), len(code))] = true
		case in.Op&7 == filter.ClassJump:
			reached[min(i+1+int(in.Jt), len(code))], reached[min(i+1+int(in.Jf), len(code))] = true, true
		default:
			reached[i+1] = true
		}
	}
	return reached
}

// reach returns how many bytes of a frame code may read where IP has no
// options, or deep where that depends on the frame.
func reach(code []filter.Instruction) int {
	const ipHeader, deep = 20, 256
	n := 0
	for _, in := range code {
		switch size := map[uint16]int{filter.SizeWord: 4, filter.SizeHalf: 2, filter.SizeByte: 1}[in.Op&0x18]; {
		case in.Op&7 == filter.ClassMove && in.Op&filter.MoveXToA == 0, in.Op&0xe7 == filter.ClassLoadX|filter.ModeMemory:
			return deep
		case in.Op&0xe7 == filter.ClassLoad|filter.ModeAbsolute:
			n = max(n, int(min(in.K, deep))+size)
		case in.Op&0xe7 == filter.ClassLoad|filter.ModeIndirect:
			n = max(n, int(min(in.K, deep))+size+ipHeader)
		}
	}
	return n
}

func (t *translator) add(in ...asm.Instruction) { t.out = append(t.out, in...) }
func (t *translator) label(i int) string        { return fmt.Sprintf("%s_%d", t.name, i) }

// reject returns the label of what rejects.
func (t *translator) reject() string {
	t.rejects = true
	return t.name + "_reject"
}

// never rejects where an offset is beyond any frame. The jump is a conditional
// one, so that what follows counts as reached.
func (t *translator) never() {
	t.add(asm.Mov.Imm(regTemp, 0), asm.JEq.Imm(regTemp, 0, t.reject()))
}

// fresh returns a label that nothing else has.
func (t *translator) fresh() string {
	t.more++
	return fmt.Sprintf("%s_m%d", t.name, t.more)
}

func (t *translator) instruction(i int, in filter.Instruction) error {
	switch in.Op & 7 {
	case filter.ClassLoad:
		return t.load(in)
	case filter.ClassLoadX:
		switch in.Op & 0xe0 {
		case filter.ModeImmediate:
			t.add(asm.Mov.Imm32(regX, int32(in.K)))
		case filter.ModeMemory:
			t.add(asm.LoadMem(regX, asm.R10, slot(in.K), asm.Word))
		case filter.ModeLength:
			t.add(asm.Mov.Reg32(regX, regLength))
		case filter.ModeIPHeader:
			t.fixed(regX, in.K, asm.Byte)
			t.add(asm.And.Imm32(regX, 15), asm.LSh.Imm32(regX, 2))
		default:
			return unknown(in)
		}
	case filter.ClassStore:
		t.add(asm.StoreMem(asm.R10, slot(in.K), regA, asm.Word))
	case filter.ClassStoreX:
		t.add(asm.StoreMem(asm.R10, slot(in.K), regX, asm.Word))
	case filter.ClassALU:
		return t.compute(in)
	case filter.ClassJump:
		return t.jump(i, in)
	case filter.ClassReturn:
		verdict := int32(0)
		if in.K != 0 {
			verdict = 1
		}
		t.add(asm.Mov.Imm(regA, verdict), asm.Return())
	case filter.ClassMove:
		if in.Op&filter.MoveXToA != 0 {
			t.add(asm.Mov.Reg32(regA, regX))
		} else {
			t.add(asm.Mov.Reg32(regX, regA))
		}
	}
	return nil
}

func unknown(in filter.Instruction) error {
	return fmt.Errorf("inspect: filter has the unknown instruction %#x", in.Op)
}

// slot is where a word of the classic machine's memory lies on the stack.
func slot(k uint32) int16 { return -4 * int16(k%filter.Registers+1) }

func (t *translator) load(in filter.Instruction) error {
	size, ok := map[uint16]asm.Size{filter.SizeWord: asm.Word, filter.SizeHalf: asm.Half, filter.SizeByte: asm.Byte}[in.Op&0x18]
	switch in.Op & 0xe0 {
	case filter.ModeImmediate:
		t.add(asm.Mov.Imm32(regA, int32(in.K)))
	case filter.ModeMemory:
		t.add(asm.LoadMem(regA, asm.R10, slot(in.K), asm.Word))
	case filter.ModeLength:
		t.add(asm.Mov.Reg32(regA, regLength))
	case filter.ModeAbsolute:
		t.fixed(regA, in.K, size)
	case filter.ModeIndirect:
		t.variable(in.K, size)
	default:
		ok = false
	}
	if !ok {
		return unknown(in)
	}
	return nil
}

// fixed loads from a constant offset.
func (t *translator) fixed(to asm.Register, k uint32, size asm.Size) {
	if k > 0x7f00 {
		t.never()
		return
	}
	t.add(asm.Mov.Reg(regTemp, regData),
		asm.Add.Imm(regTemp, int32(k)+int32(size.Sizeof())),
		asm.JGT.Reg(regTemp, regEnd, t.reject()),
		asm.LoadMem(to, regData, int16(k), size))
	t.order(to, size)
}

// variable loads from X + k.
func (t *translator) variable(k uint32, size asm.Size) {
	if k > maxVariable {
		t.never()
		return
	}
	t.add(asm.Mov.Reg32(regTemp, regX),
		asm.Add.Imm(regTemp, int32(k)),
		asm.JGT.Imm(regTemp, maxVariable, t.reject()),
		asm.Add.Reg(regTemp, regData),
		asm.Mov.Reg(regA, regTemp),
		asm.Add.Imm(regA, int32(size.Sizeof())),
		asm.JGT.Reg(regA, regEnd, t.reject()),
		asm.LoadMem(regA, regTemp, 0, size))
	t.order(regA, size)
}

func (t *translator) order(r asm.Register, size asm.Size) {
	if size != asm.Byte {
		t.add(asm.HostTo(asm.BE, r, size))
	}
}

func (t *translator) compute(in filter.Instruction) error {
	op, ok := map[uint16]asm.ALUOp{
		filter.Add: asm.Add, filter.Subtract: asm.Sub, filter.Multiply: asm.Mul, filter.Divide: asm.Div, filter.Modulo: asm.Mod,
		filter.Or: asm.Or, filter.And: asm.And, filter.Xor: asm.Xor, filter.Left: asm.LSh, filter.Right: asm.RSh,
	}[in.Op&0xf0]
	switch {
	case in.Op&0xf0 == filter.Negate:
		t.add(asm.Neg.Imm32(regA, 0))
	case !ok:
		return unknown(in)
	case in.Op&filter.SourceX == 0:
		t.add(op.Imm32(regA, int32(in.K)))
	case op == asm.Div || op == asm.Mod:
		t.add(asm.JEq.Imm32(regX, 0, t.reject()), op.Reg32(regA, regX))
	case op == asm.LSh || op == asm.RSh: // eBPF takes the count modulo 32
		shift, after := t.fresh(), t.fresh()
		t.add(asm.JLE.Imm32(regX, 31, shift),
			asm.Mov.Imm32(regA, 0),
			asm.Ja.Label(after),
			op.Reg32(regA, regX).WithSymbol(shift),
			asm.Mov.Reg32(regA, regA).WithSymbol(after))
	default:
		t.add(op.Reg32(regA, regX))
	}
	return nil
}

func (t *translator) jump(i int, in filter.Instruction) error {
	op, ok := map[uint16]asm.JumpOp{
		filter.Jump: asm.Ja, filter.JumpEqual: asm.JEq, filter.JumpGreater: asm.JGT, filter.JumpAtLeast: asm.JGE, filter.JumpAnyBit: asm.JSet,
	}[in.Op&0xf0]
	switch {
	case !ok:
		return unknown(in)
	case op == asm.Ja:
		t.add(asm.Ja.Label(t.label(i + 1 + int(in.K))))
		return nil
	case in.Op&filter.SourceX != 0:
		t.add(op.Reg32(regA, regX, t.label(i+1+int(in.Jt))))
	default:
		t.add(op.Imm32(regA, int32(in.K), t.label(i+1+int(in.Jt))))
	}
	if in.Jf > 0 {
		t.add(asm.Ja.Label(t.label(i + 1 + int(in.Jf))))
	}
	return nil
}
