// Package netlink speaks the kernel's netlink protocol (RFC 3549) as far as
// reading and changing a link needs: requests, multi-part answers, attributes
// and the kernel's own words for a refusal.
//
// Encoding and decoding are portable, so that a dump recorded on a board can
// be read anywhere; only Conn needs Linux.
package netlink

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
)

// ErrMalformed is wrapped by errors about messages whose lengths do not add up.
var ErrMalformed = errors.New("netlink: malformed message")

// headerLen is the length of struct nlmsghdr (RFC 3549 2.2).
const headerLen = 16

// Message is one netlink message without its header.
type Message struct {
	Type  uint16
	Flags uint16
	Data  []byte // past the header; family header and attributes
}

// Order tells the byte order a dump was recorded in from the length that
// begins its first message: read in the wrong order it is far too large.
func Order(dump []byte) binary.ByteOrder {
	if len(dump) >= 4 && int64(binary.LittleEndian.Uint32(dump)) > int64(binary.BigEndian.Uint32(dump)) {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// Messages splits a dump into its messages.
func Messages(dump []byte, order binary.ByteOrder) ([]Message, error) {
	var out []Message
	for len(dump) > 0 {
		if len(dump) < headerLen {
			return out, fmt.Errorf("%w: %d bytes after the last message", ErrMalformed, len(dump))
		}
		n := int64(order.Uint32(dump))
		if n < headerLen || n > int64(len(dump)) {
			return out, fmt.Errorf("%w: length %d of %d bytes", ErrMalformed, n, len(dump))
		}
		out = append(out, Message{Type: order.Uint16(dump[4:]), Flags: order.Uint16(dump[6:]), Data: dump[headerLen:n]})
		dump = dump[min(align(n), int64(len(dump))):]
	}
	return out, nil
}

// align rounds a length up to the four bytes that messages and attributes
// begin at.
func align(n int64) int64 { return (n + 3) &^ 3 }

// attrTypeMask leaves out the flags of an attribute's type: nested and
// network byte order.
const attrTypeMask = 0x3fff

// Attributes walks the attributes in b (type, length, value) and stops at the
// first whose length does not fit.
func Attributes(b []byte, order binary.ByteOrder) iter.Seq2[uint16, []byte] {
	return func(yield func(uint16, []byte) bool) {
		for len(b) >= 4 {
			n := int64(order.Uint16(b))
			if n < 4 || n > int64(len(b)) {
				return
			}
			if !yield(order.Uint16(b[2:])&attrTypeMask, b[4:n]) {
				return
			}
			b = b[min(align(n), int64(len(b))):]
		}
	}
}

// String returns the text of an attribute up to its terminating zero.
func String(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}

// Uint returns the number in an attribute of one to eight bytes.
func Uint(b []byte, order binary.ByteOrder) (uint64, bool) {
	switch len(b) {
	case 1:
		return uint64(b[0]), true
	case 2:
		return uint64(order.Uint16(b)), true
	case 4:
		return uint64(order.Uint32(b)), true
	case 8:
		return order.Uint64(b), true
	}
	return 0, false
}

// nested marks an attribute whose value is attributes (NLA_F_NESTED).
const nested = 0x8000

// Attrs builds attributes in the machine's byte order.
type Attrs []byte

// Bytes appends an attribute.
func (a *Attrs) Bytes(typ uint16, v []byte) {
	order := binary.NativeEndian
	*a = order.AppendUint16(*a, uint16(4+len(v)))
	*a = order.AppendUint16(*a, typ)
	*a = append(*a, v...)
	for len(*a)%4 != 0 {
		*a = append(*a, 0)
	}
}

// String appends a text with its terminating zero.
func (a *Attrs) String(typ uint16, s string) { a.Bytes(typ, append([]byte(s), 0)) }

// Uint8 appends a number of one byte.
func (a *Attrs) Uint8(typ uint16, v uint8) { a.Bytes(typ, []byte{v}) }

// Uint32 appends a number of four bytes.
func (a *Attrs) Uint32(typ uint16, v uint32) {
	a.Bytes(typ, binary.NativeEndian.AppendUint32(nil, v))
}

// Flag appends an attribute that says something by being there.
func (a *Attrs) Flag(typ uint16) { a.Bytes(typ, nil) }

// Nest appends the attributes that build makes as the value of one.
func (a *Attrs) Nest(typ uint16, build func(*Attrs)) {
	var in Attrs
	build(&in)
	a.Bytes(typ|nested, in)
}
