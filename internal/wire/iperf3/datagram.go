package iperf3

import (
	"encoding/binary"
	"errors"
	"time"
)

// The datagrams that open a UDP stream. A server must take any first datagram
// of a new address for a hello; a client must accept both replies.
var (
	Hello    = [4]byte{'9', '8', '7', '6'}
	Reply    = [4]byte{'6', '7', '8', '9'}
	OldReply = [4]byte{0xb1, 0x68, 0xde, 0x3a} // 987654321, releases before 3.2
)

// IsReply reports whether b answers a Hello.
func IsReply(b []byte) bool {
	return string(b) == string(Reply[:]) || string(b) == string(OldReply[:])
}

// Lengths of the header of a UDP datagram with 32-bit and 64-bit counters.
const (
	HeaderLen   = 12
	HeaderLen64 = 16
)

// ErrShort is returned for a datagram too short for its header.
var ErrShort = errors.New("iperf3 datagram shorter than its header")

// Header is the head of every UDP datagram.
type Header struct {
	Sent time.Duration // the sender's clock; only differences mean anything
	Seq  uint64        // from 1 in each stream
}

// Put writes h to the head of b, which must have room for the header.
func (h Header) Put(b []byte, wide bool) {
	binary.BigEndian.PutUint32(b, uint32(h.Sent/time.Second))
	binary.BigEndian.PutUint32(b[4:], uint32(h.Sent%time.Second/time.Microsecond))
	if wide {
		binary.BigEndian.PutUint64(b[8:], h.Seq)
	} else {
		binary.BigEndian.PutUint32(b[8:], uint32(h.Seq))
	}
}

// ParseHeader reads the head of a datagram.
func ParseHeader(b []byte, wide bool) (Header, error) {
	if len(b) < HeaderLen || wide && len(b) < HeaderLen64 {
		return Header{}, ErrShort
	}
	h := Header{Sent: time.Duration(binary.BigEndian.Uint32(b))*time.Second +
		time.Duration(binary.BigEndian.Uint32(b[4:]))*time.Microsecond}
	if wide {
		h.Seq = binary.BigEndian.Uint64(b[8:])
	} else {
		h.Seq = uint64(binary.BigEndian.Uint32(b[8:]))
	}
	return h, nil
}
