package filter

import "encoding/binary"

// Instruction is one of the classic BPF machine, laid out as the kernel's
// struct sock_filter.
type Instruction struct {
	Op     uint16
	Jt, Jf uint8 // how many instructions a conditional jump skips
	K      uint32
}

// Parts of an operation code: class, then size and mode of a load, the
// operation and source of arithmetic and jumps (linux/bpf_common.h).
const (
	ClassLoad   = 0x00
	ClassLoadX  = 0x01
	ClassStore  = 0x02
	ClassStoreX = 0x03
	ClassALU    = 0x04
	ClassJump   = 0x05
	ClassReturn = 0x06
	ClassMove   = 0x07

	SizeWord = 0x00
	SizeHalf = 0x08
	SizeByte = 0x10

	ModeImmediate = 0x00
	ModeAbsolute  = 0x20
	ModeIndirect  = 0x40
	ModeMemory    = 0x60
	ModeLength    = 0x80
	ModeIPHeader  = 0xa0 // X = 4 * (packet[k] & 15)

	SourceX = 0x08

	Add      = 0x00
	Subtract = 0x10
	Multiply = 0x20
	Divide   = 0x30
	Or       = 0x40
	And      = 0x50
	Left     = 0x60
	Right    = 0x70
	Negate   = 0x80
	Modulo   = 0x90
	Xor      = 0xa0

	Jump        = 0x00
	JumpEqual   = 0x10
	JumpGreater = 0x20
	JumpAtLeast = 0x30
	JumpAnyBit  = 0x40

	MoveXToA = 0x80 // with ClassMove; 0 is A to X
)

// Registers is how many words of memory a program has.
const Registers = 16

// run executes code that assemble made: it ends, for jumps go forward only.
// What libpcap leaves open is as there: division by zero rejects, a shift by
// more than 31 gives 0.
func run(code []Instruction, b []byte, wire uint32) uint32 {
	var a, x uint32
	var m [Registers]uint32
	for pc := 0; pc < len(code); pc++ {
		in := &code[pc]
		switch in.Op & 7 {
		case ClassLoad:
			at := uint64(in.K)
			switch in.Op & 0xe0 {
			case ModeImmediate:
				a = in.K
				continue
			case ModeMemory:
				a = m[in.K%Registers]
				continue
			case ModeLength:
				a = wire
				continue
			case ModeIndirect:
				at += uint64(x)
			}
			v, ok := load(b, at, in.Op&0x18)
			if !ok {
				return 0
			}
			a = v
		case ClassLoadX:
			switch in.Op & 0xe0 {
			case ModeImmediate:
				x = in.K
			case ModeMemory:
				x = m[in.K%Registers]
			case ModeLength:
				x = wire
			case ModeIPHeader:
				if uint64(in.K) >= uint64(len(b)) {
					return 0
				}
				x = uint32(b[in.K]&15) * 4
			}
		case ClassStore:
			m[in.K%Registers] = a
		case ClassStoreX:
			m[in.K%Registers] = x
		case ClassALU:
			v := in.K
			if in.Op&SourceX != 0 {
				v = x
			}
			r, ok := compute(in.Op&0xf0, a, v)
			if !ok {
				return 0
			}
			a = r
		case ClassJump:
			v := in.K
			if in.Op&SourceX != 0 {
				v = x
			}
			var taken bool
			switch in.Op & 0xf0 {
			case Jump:
				pc += int(in.K)
				continue
			case JumpEqual:
				taken = a == v
			case JumpGreater:
				taken = a > v
			case JumpAtLeast:
				taken = a >= v
			case JumpAnyBit:
				taken = a&v != 0
			}
			if taken {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		case ClassReturn:
			return in.K
		case ClassMove:
			if in.Op&MoveXToA != 0 {
				a = x
			} else {
				x = a
			}
		}
	}
	return 0
}

// load reads a number in network order.
func load(b []byte, at uint64, size uint16) (uint32, bool) {
	n := uint64(len(b))
	switch size {
	case SizeByte:
		if at < n {
			return uint32(b[at]), true
		}
	case SizeHalf:
		if at+2 <= n {
			return uint32(binary.BigEndian.Uint16(b[at:])), true
		}
	case SizeWord:
		if at+4 <= n {
			return binary.BigEndian.Uint32(b[at:]), true
		}
	}
	return 0, false
}

// compute is an operation of the machine; false where it ends the program.
func compute(op uint16, a, v uint32) (uint32, bool) {
	switch op {
	case Add:
		return a + v, true
	case Subtract:
		return a - v, true
	case Multiply:
		return a * v, true
	case Divide, Modulo:
		if v == 0 {
			return 0, false
		}
		if op == Divide {
			return a / v, true
		}
		return a % v, true
	case Or:
		return a | v, true
	case And:
		return a & v, true
	case Xor:
		return a ^ v, true
	case Left:
		return a << v, true // Go's shifts by more than 31 give 0
	case Right:
		return a >> v, true
	case Negate:
		return -a, true
	}
	return 0, false
}
