package pcap

import (
	"encoding/binary"
	"fmt"
)

// Magic numbers of a pcap file, as written by the machine that captured
// (draft-ietf-opsawg-pcap section 4; the modified one is a patched libpcap of
// the 1990s whose record headers carry 8 bytes more).
const (
	magicMicro    = 0xa1b2c3d4
	magicNano     = 0xa1b23c4d
	magicModified = 0xa1b2cd34
)

// lengthOrder says which of a record's two lengths is which.
type lengthOrder uint8

const (
	capturedFirst lengthOrder = iota
	originalFirst             // versions before 2.3
	eitherFirst               // version 2.3: the smaller is the captured one
)

const fileHeader = 24

func (r *Reader) openPcap(magic uint32) error {
	r.big = true
	r.order = binary.BigEndian
	if m := swap32(magic); m == magicMicro || m == magicNano || m == magicModified {
		magic, r.big, r.order = m, false, binary.LittleEndian
	}
	r.header, r.unit = 16, 1000
	switch magic {
	case magicMicro:
		r.name = "pcap, microseconds"
	case magicNano:
		r.unit, r.name = 1, "pcap, nanoseconds"
	case magicModified:
		r.header, r.name = 24, "pcap, modified"
	default:
		return fmt.Errorf("magic number %08x: %w", magic, ErrFormat)
	}
	h, err := r.src.peek(fileHeader)
	if err != nil {
		return short(err, "file header")
	}
	major, minor := r.order.Uint16(h[4:]), r.order.Uint16(h[6:])
	switch {
	case major == 2 && minor < 3:
		r.lengths = originalFirst
	case major == 2 && minor == 3:
		r.lengths = eitherFirst
	case major != 2 && major != 543: // 543 was written by libpcap of Digital Unix
		return fmt.Errorf("pcap version %d.%d: %w", major, minor, ErrFormat)
	}
	// Section 4: bits 28-31 count 16-bit words of frame check sequence where
	// bit 26 is set; the link type is the low half.
	network := r.order.Uint32(h[20:])
	r.link = LinkType(network)
	if network&(1<<26) != 0 {
		r.fcs = 2 * int(network>>28)
	}
	return r.src.skip(fileHeader)
}

func (r *Reader) nextPcap(rec *Record) error {
	s := &r.src
	if s.end-s.pos < r.header {
		if _, err := s.peek(r.header); err != nil {
			if s.end-s.pos == 0 {
				return err
			}
			return short(err, "record header")
		}
	}
	h := s.buf[s.pos : s.pos+16 : s.pos+16]
	var sec, frac, n, length uint32
	if r.big {
		sec, frac = binary.BigEndian.Uint32(h), binary.BigEndian.Uint32(h[4:])
		n, length = binary.BigEndian.Uint32(h[8:]), binary.BigEndian.Uint32(h[12:])
	} else {
		sec, frac = binary.LittleEndian.Uint32(h), binary.LittleEndian.Uint32(h[4:])
		n, length = binary.LittleEndian.Uint32(h[8:]), binary.LittleEndian.Uint32(h[12:])
	}
	if r.lengths == originalFirst || r.lengths == eitherFirst && n > length {
		n, length = length, n
	}
	if n > maxRecord {
		return fmt.Errorf("record of %d bytes: %w", n, ErrFormat)
	}
	size := r.header + int(n)
	if s.end-s.pos < size {
		if _, err := s.peek(size); err != nil {
			return short(err, "record")
		}
	}
	rec.Data = s.buf[s.pos+r.header : s.pos+size : s.pos+size]
	s.pos += size
	rec.Time = int64(sec)*1e9 + int64(frac)*r.unit
	rec.Link, rec.If = r.link, 0
	rec.setLength(int(min(length, 1<<30)), r.fcs)
	return nil
}

// setLength fills Len and cuts off the frame check sequence. A length below
// the captured one is a fault of the writer: the bytes are there.
func (rec *Record) setLength(n, fcs int) {
	rec.Len = max(n, len(rec.Data))
	if fcs == 0 {
		return
	}
	rec.Len = max(rec.Len-fcs, 0)
	rec.Data = rec.Data[:min(len(rec.Data), rec.Len)]
}

func swap32(v uint32) uint32 { return v<<24 | v>>24 | v<<8&0xff0000 | v>>8&0xff00 }
