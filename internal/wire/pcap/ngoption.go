package pcap

import "fmt"

// Options of an interface description and of interface statistics
// (draft-ietf-opsawg-pcapng sections 4.2 and 4.6).
const (
	optEnd          = 0
	optTSResolution = 9
	optFCSLength    = 13
	optTSOffset     = 14
	optIfDrop       = 5
)

// addInterface reads an interface description block.
func (r *Reader) addInterface(b []byte) error {
	if len(b) < 8 {
		return fmt.Errorf("interface description of %d bytes: %w", len(b), ErrFormat)
	}
	if len(r.section) >= maxInterfaces {
		return fmt.Errorf("more than %d interfaces in a section: %w", maxInterfaces, ErrFormat)
	}
	f := iface{link: LinkType(r.order.Uint16(b)), snap: r.order.Uint32(b[4:]), exp: 6}
	r.options(b[8:], func(code uint16, v []byte) {
		switch {
		case code == optTSResolution && len(v) >= 1:
			f.pow2, f.exp = v[0]&0x80 != 0, v[0]&0x7f
			if f.pow2 {
				f.exp = min(f.exp, 63)
			}
		case code == optFCSLength && len(v) >= 1:
			f.fcs = int(v[0] & 0xf)
		case code == optTSOffset && len(v) >= 8:
			f.offset = int64(r.order.Uint64(v))
		}
	})
	r.section = append(r.section, f)
	return nil
}

// addStatistics keeps the drops that the capturing tool counted.
func (r *Reader) addStatistics(b []byte) {
	if len(b) < 12 {
		return
	}
	r.options(b[12:], func(code uint16, v []byte) {
		if code == optIfDrop && len(v) >= 8 {
			r.drops += r.order.Uint64(v)
		}
	})
}

// options calls f for each option of a block; a damaged list ends early, as
// options never decide where the packets are.
func (r *Reader) options(b []byte, f func(code uint16, value []byte)) {
	for len(b) >= 4 {
		code, n := r.order.Uint16(b), int(r.order.Uint16(b[2:]))
		if code == optEnd || n > len(b)-4 {
			return
		}
		f(code, b[4:4+n])
		b = b[min(4+(n+3)&^3, len(b)):]
	}
}
