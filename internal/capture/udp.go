package capture

import (
	"encoding/binary"

	"github.com/linerate/linerate/internal/wire/frame"
)

// datagrams follows the UDP datagrams of one flow, one direction each.
type datagrams struct {
	dir [2]stream
}

// stream is UDP in one direction.
type stream struct {
	first, last int64
	packets     int64
	payload     int64
	wire        int64 // byte times on an Ethernet
	gaps        histogram
	sequence    sequence
}

// sequence counts loss by the numbers that a sender of known format writes.
type sequence struct {
	format   string
	highest  uint64
	lowest   uint64
	received int64
	late     int64
	misses   int
}

// maxDatagramFlows bounds the UDP flows followed; the rest are counted only.
const maxDatagramFlows = 4096

func (e *Engine) datagram(p *frame.Packet, f *Frame, t int64) {
	k, side := keyOf(p)
	fl, fresh := e.flows.find(&k)
	if fresh {
		fl.first, fl.firstFrame = t, uint32(e.frames)
	}
	fl.last = t
	fl.packets[side]++
	fl.bytes[side] += uint64(p.Payload)
	d := e.udp[fl]
	if d == nil {
		if len(e.udp) >= maxDatagramFlows {
			return
		}
		d = &datagrams{}
		e.udp[fl] = d
	}
	d.dir[side].add(p, f.Len, t)
}

func (s *stream) add(p *frame.Packet, n int, t int64) {
	if s.packets == 0 {
		s.first = t
	} else {
		s.gaps.add(t - s.last)
	}
	s.last = t
	s.packets++
	s.payload += int64(p.Payload)
	s.wire += int64(frame.OnWire(n))
	s.sequence.add(p.Data)
}

// add looks for a sequence number: our own signature, or iperf3's header of
// seconds, microseconds and a counter (iperf3 iperf_udp.c).
func (q *sequence) add(b []byte) {
	if q.misses > 8 && q.received == 0 {
		return
	}
	format, n, ok := number(b)
	if !ok || q.format != "" && q.format != format || q.received > 0 && far(n, q.highest) {
		q.misses++
		return
	}
	if q.received == 0 {
		q.format, q.lowest, q.highest = format, n, n
	}
	q.received++
	switch {
	case n > q.highest:
		q.highest = n
	case q.received > 1:
		q.late++
		q.lowest = min(q.lowest, n)
	}
}

// far reports whether two numbers are too far apart for one stream.
func far(a, b uint64) bool { return max(a, b)-min(a, b) > 1<<24 }

// number reads the sequence number of a datagram: our test frames' or iperf3's.
func number(b []byte) (format string, n uint64, ok bool) {
	if sig, ours, intact := frame.ParseSignature(b); ours && intact {
		return "linerate", sig.Sequence, true
	}
	if len(b) >= 12 && binary.BigEndian.Uint32(b[4:]) < 1_000_000 {
		return "iperf3", uint64(binary.BigEndian.Uint32(b[8:])), true
	}
	return "", 0, false
}

// lost returns the datagrams missing between the lowest and the highest
// number; ok is false where the datagrams aren't numbered.
func (q *sequence) lost() (n int64, ok bool) {
	if q.received < 8 || q.misses*10 > int(q.received) {
		return 0, false
	}
	span := int64(q.highest-q.lowest) + 1
	if span < q.received/2 {
		return 0, false // no counter: the same number again and again
	}
	return max(span-q.received, 0), true
}
