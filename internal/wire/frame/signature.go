package frame

import "encoding/binary"

// Signature marks a frame as one of ours and numbers it: the first bytes of
// the UDP payload. signature.h is its twin in C.
type Signature struct {
	Flow     uint16
	Sequence uint64 // 40 bits: at 1.5 million frames a second, eight days
	Stamp    uint64 // ns, the sender's clock; 0 where the frame is not stamped
}

// SignatureBytes is the length of a Signature: it fits a 64-byte IPv4 frame.
const SignatureBytes = 18

const (
	signatureMagic = 0x4c52 // "LR"
	sequenceMask   = 1<<40 - 1
)

// Append adds the signature to b.
func (s Signature) Append(b []byte) []byte {
	seq := s.Sequence & sequenceMask
	b = binary.BigEndian.AppendUint16(b, signatureMagic)
	b = binary.BigEndian.AppendUint16(b, s.Flow)
	b = binary.BigEndian.AppendUint32(b, uint32(seq>>8))
	b = append(b, byte(seq), s.check())
	return binary.BigEndian.AppendUint64(b, s.Stamp)
}

// check folds the fields so that any single bit changed shows.
func (s Signature) check() byte {
	x := s.Stamp ^ s.Sequence&sequenceMask ^ uint64(s.Flow)<<40
	x ^= x >> 32
	x ^= x >> 16
	x ^= x >> 8
	return byte(x) ^ 0x5a
}

// ParseSignature reads the signature at the start of a UDP payload. ours tells
// whether there is one; intact, whether its check holds.
func ParseSignature(payload []byte) (s Signature, ours, intact bool) {
	if len(payload) < SignatureBytes || binary.BigEndian.Uint16(payload) != signatureMagic {
		return s, false, false
	}
	s.Flow = binary.BigEndian.Uint16(payload[2:])
	s.Sequence = uint64(binary.BigEndian.Uint32(payload[4:]))<<8 | uint64(payload[8])
	s.Stamp = binary.BigEndian.Uint64(payload[10:])
	return s, true, payload[9] == s.check()
}
