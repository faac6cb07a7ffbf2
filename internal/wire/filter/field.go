package filter

// field loads size bytes that start k bytes after o.
func field(o offset, k uint32, size uint16) []Instruction {
	if o.register == noRegister {
		return []Instruction{{Op: ClassLoad | ModeAbsolute | size, K: o.base + k}}
	}
	return []Instruction{
		{Op: ClassLoadX | ModeMemory, K: uint32(o.register)},
		{Op: ClassLoad | ModeIndirect | size, K: o.base + k},
	}
}

// masked tests the bits of a field that mask has; all bits for 0xffffffff.
func masked(o offset, k uint32, size uint16, value, mask uint32) *condition {
	if mask == 0 {
		if value == 0 {
			return always
		}
		return never
	}
	load := field(o, k, size)
	if mask != 0xffffffff {
		load = append(load, Instruction{Op: ClassALU | And, K: mask})
	}
	return compare(load, JumpEqual, value)
}

func equal(o offset, k uint32, size uint16, value uint32) *condition {
	return compare(field(o, k, size), JumpEqual, value)
}

func atMost(o offset, k uint32, size uint16, value uint32) *condition {
	return not(compare(field(o, k, size), JumpGreater, value))
}

// octets tests a run of bytes, the last ones first, as libpcap does: the first
// test decides whether the packet is long enough.
func octets(o offset, k uint32, v []byte) *condition {
	c := always
	for n := len(v); n > 0; {
		size, width := uint16(SizeWord), 4
		if n < 4 {
			size, width = SizeHalf, 2
		}
		if n < 2 {
			size, width = SizeByte, 1
		}
		n -= width
		value, _ := load(v, uint64(n), size)
		c = and(c, equal(o, k+uint32(n), size, value))
	}
	return c
}

// ip returns where the network layer starts.
func (c *compiler) ip() offset { return c.payload.plus(c.network) }

// version tests the first half byte of an IP header.
func version(o offset, v uint32) *condition { return masked(o, 0, SizeByte, v<<4, 0xf0) }
