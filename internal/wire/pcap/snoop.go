package pcap

import (
	"encoding/binary"
	"fmt"
	"io"
)

// openSnoop reads the header of a snoop file (RFC 1761).
func (r *Reader) openSnoop() error {
	h, err := r.src.peek(16)
	if err != nil {
		return short(err, "snoop header")
	}
	if string(h[:8]) != "snoop\x00\x00\x00" {
		return fmt.Errorf("magic number %q: %w", h[:8], ErrFormat)
	}
	r.format, r.name, r.order, r.big = formatSnoop, "snoop", binary.BigEndian, true
	// RFC 1761 numbers datalinks on its own: 4 is Ethernet, 0 IEEE 802.3, 8 FDDI.
	switch d := binary.BigEndian.Uint32(h[12:]); d {
	case 0, 4:
		r.link = 1
	case 8:
		r.link = 10
	default:
		return fmt.Errorf("snoop datalink %d: %w", d, ErrFormat)
	}
	return r.src.skip(16)
}

func (r *Reader) nextSnoop(rec *Record) error {
	h, err := r.src.peek(24)
	if err == io.EOF {
		return io.EOF
	}
	if err != nil {
		return short(err, "record header")
	}
	length, n, size := binary.BigEndian.Uint32(h), binary.BigEndian.Uint32(h[4:]), binary.BigEndian.Uint32(h[8:])
	if size < 24 || size > maxRecord || n > size-24 {
		return fmt.Errorf("record of %d bytes in %d: %w", n, size, ErrFormat)
	}
	drops := uint64(binary.BigEndian.Uint32(h[12:])) // cumulative
	rec.Time = int64(binary.BigEndian.Uint32(h[16:]))*1e9 + int64(binary.BigEndian.Uint32(h[20:]))*1000
	b, err := r.src.peek(int(size))
	if err != nil {
		return short(err, "record")
	}
	rec.Data, rec.Link, rec.If = b[24:24+n:24+n], r.link, 0
	rec.setLength(int(min(length, 1<<30)), 0)
	r.drops = max(r.drops, drops)
	r.src.pos += int(size)
	return nil
}
