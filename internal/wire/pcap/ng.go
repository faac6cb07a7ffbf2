package pcap

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
)

// Block types (draft-ietf-opsawg-pcapng section 10.1 and 4).
const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockPacket    = 2 // obsolete
	blockSimple    = 3
	blockStatistic = 5
	blockEnhanced  = 6
)

// maxInterfaces bounds what a damaged section can make us remember.
const maxInterfaces = 1 << 16

// iface is an interface description, and the clock of its timestamps.
type iface struct {
	link   LinkType
	snap   uint32
	fcs    int
	pow2   bool
	exp    uint8 // the unit is 10^-exp or 2^-exp seconds
	offset int64 // seconds added to every timestamp
}

// nextNG reads blocks until one carries a packet.
func (r *Reader) nextNG(rec *Record) error {
	for {
		head, err := r.src.peek(8)
		if err == io.EOF {
			return io.EOF
		}
		if err != nil {
			return short(err, "block header")
		}
		// The type of a section header reads the same in both byte orders.
		if binary.BigEndian.Uint32(head) == blockSection {
			if err := r.openSection(); err != nil {
				return err
			}
			continue
		}
		if r.order == nil {
			return fmt.Errorf("block before the first section header: %w", ErrFormat)
		}
		kind, size := r.order.Uint32(head), r.order.Uint32(head[4:])
		if size < 12 || size%4 != 0 {
			return fmt.Errorf("block of %d bytes: %w", size, ErrFormat)
		}
		switch kind {
		case blockInterface, blockPacket, blockSimple, blockStatistic, blockEnhanced:
		default:
			if err := r.src.skip(int(min(size, 1<<31-1))); err != nil {
				return short(err, "block")
			}
			continue
		}
		if size > maxRecord {
			return fmt.Errorf("block of %d bytes: %w", size, ErrFormat)
		}
		block, err := r.src.peek(int(size))
		if err != nil {
			return short(err, "block")
		}
		if tail := r.order.Uint32(block[size-4:]); tail != size {
			return fmt.Errorf("block of %d bytes ends with length %d: %w", size, tail, ErrFormat)
		}
		found, err := r.block(kind, block[8:size-4], rec)
		if err != nil {
			return err
		}
		r.src.pos += int(size)
		if found {
			return nil
		}
	}
}

// openSection reads a section header (section 4.1); its interfaces are its own.
func (r *Reader) openSection() error {
	h, err := r.src.peek(28)
	if err != nil {
		return short(err, "section header")
	}
	switch binary.BigEndian.Uint32(h[8:]) {
	case 0x1a2b3c4d:
		r.order, r.big = binary.BigEndian, true
	case 0x4d3c2b1a:
		r.order, r.big = binary.LittleEndian, false
	default:
		return fmt.Errorf("section byte order %x: %w", h[8:12], ErrFormat)
	}
	size, major := r.order.Uint32(h[4:]), r.order.Uint16(h[12:])
	if size < 28 || size%4 != 0 || size > maxRecord {
		return fmt.Errorf("section header of %d bytes: %w", size, ErrFormat)
	}
	if major != 1 {
		return fmt.Errorf("pcapng version %d: %w", major, ErrFormat)
	}
	r.section = r.section[:0]
	if err := r.src.skip(int(size)); err != nil {
		return short(err, "section header")
	}
	return nil
}

// block takes one block's body and reports whether it filled rec.
func (r *Reader) block(kind uint32, b []byte, rec *Record) (bool, error) {
	switch kind {
	case blockInterface:
		return false, r.addInterface(b)
	case blockStatistic:
		r.addStatistics(b)
		return false, nil
	case blockSimple: // section 4.4: interface 0, no time
		if len(b) < 4 {
			return false, fmt.Errorf("simple packet block of %d bytes: %w", len(b), ErrFormat)
		}
		length := r.order.Uint32(b)
		n := min(length, uint32(len(b)-4))
		if len(r.section) > 0 && r.section[0].snap > 0 {
			n = min(n, r.section[0].snap)
		}
		return true, r.packet(rec, 0, 0, b[4:], n, length)
	}
	if len(b) < 20 {
		return false, fmt.Errorf("packet block of %d bytes: %w", len(b), ErrFormat)
	}
	index := r.order.Uint32(b)
	if kind == blockPacket {
		index = uint32(r.order.Uint16(b))
	}
	ticks := uint64(r.order.Uint32(b[4:]))<<32 | uint64(r.order.Uint32(b[8:]))
	return true, r.packet(rec, index, ticks, b[20:], r.order.Uint32(b[12:]), r.order.Uint32(b[16:]))
}

func (r *Reader) packet(rec *Record, index uint32, ticks uint64, data []byte, n, length uint32) error {
	if uint64(index) >= uint64(len(r.section)) {
		return fmt.Errorf("packet of interface %d of %d: %w", index, len(r.section), ErrFormat)
	}
	if uint64(n) > uint64(len(data)) {
		return fmt.Errorf("packet of %d bytes in a block of %d: %w", n, len(data), ErrFormat)
	}
	f := &r.section[index]
	rec.Data, rec.Link, rec.If = data[:n:n], f.link, int(index)
	rec.Time = f.time(ticks)
	rec.setLength(int(min(length, 1<<30)), f.fcs)
	return nil
}

// time converts a timestamp to nanoseconds since 1970.
func (f *iface) time(ticks uint64) int64 {
	switch {
	case f.pow2:
		hi, lo := bits.Mul64(ticks, 1e9)
		return f.offset*1e9 + int64(hi<<(64-f.exp)|lo>>f.exp)
	case f.exp <= 9:
		return f.offset*1e9 + int64(ticks*pow10(9-f.exp))
	default:
		return f.offset*1e9 + int64(ticks/pow10(f.exp-9))
	}
}

func pow10(n uint8) uint64 {
	p := uint64(1)
	for range min(n, 19) {
		p *= 10
	}
	return p
}
