package frame

import "encoding/binary"

// Sum adds the 16-bit big-endian words of b to s (RFC 1071); an odd byte at the
// end counts as the upper half of a word. Sums of even pieces may be added in
// any order, up to 2^32 words in all, before Fold.
func Sum(s uint64, b []byte) uint64 {
	for len(b) >= 32 {
		v, w := binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
		x, y := binary.BigEndian.Uint64(b[16:]), binary.BigEndian.Uint64(b[24:])
		s += v>>32 + v&0xffffffff + w>>32 + w&0xffffffff + x>>32 + x&0xffffffff + y>>32 + y&0xffffffff
		b = b[32:]
	}
	for ; len(b) >= 2; b = b[2:] {
		s += uint64(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		s += uint64(b[0]) << 8
	}
	return s
}

// Fold brings a sum to 16 bits of one's complement; a checksum is what it is
// the complement of.
func Fold(s uint64) uint16 {
	for s > 0xffff {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}
