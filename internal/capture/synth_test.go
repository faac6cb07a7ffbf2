package capture

import (
	"encoding/binary"
	"io"
	"testing"

	"github.com/linerate/linerate/internal/wire/pcap"
)

// transfer describes a synthetic connection without loss, captured at the
// sender or anywhere behind it.
type transfer struct {
	segment    int
	segments   int
	gap        int64 // between segments, as the application offers them
	rtt        int64
	at         float64 // capture point: 0 sender, 1 receiver
	window     int     // unscaled
	perACK     int
	timestamps bool
	port       uint16
}

// event is one packet at the capture point.
type synthetic struct {
	t        int64
	data     bool
	seq, ack uint32
	n        int
}

const synthStart = 1_700_000_000_000_000_000

// play returns the packets of x in capture order.
func (x transfer) play() []synthetic {
	up := int64(float64(x.rtt) * x.at / 2)
	down := x.rtt/2 - up
	var data, acks []synthetic
	free := int64(0)
	var pending []synthetic // acknowledgements on their way to the sender, by arrival there
	var una, next uint32
	held := 0
	for i := range x.segments {
		for int(next-una)+x.segment > x.window && len(pending) > 0 {
			free = max(free, pending[0].t)
			una = pending[0].ack
			pending = pending[1:]
		}
		for len(pending) > 0 && pending[0].t <= free {
			una, pending = pending[0].ack, pending[1:]
		}
		data = append(data, synthetic{t: free + up, data: true, seq: next, n: x.segment})
		next += uint32(x.segment)
		if held++; held == x.perACK || i == x.segments-1 {
			held = 0
			at := free + x.rtt/2
			acks = append(acks, synthetic{t: at + down, ack: next})
			pending = append(pending, synthetic{t: free + x.rtt, ack: next})
		}
		free += x.gap
	}
	// Both are in order of time; merge them.
	out := make([]synthetic, 0, len(data)+len(acks))
	for len(data) > 0 || len(acks) > 0 {
		if len(acks) == 0 || len(data) > 0 && data[0].t <= acks[0].t {
			out, data = append(out, data[0]), data[1:]
		} else {
			out, acks = append(out, acks[0]), acks[1:]
		}
	}
	return out
}

// write writes the connection with its handshake to w, headers only.
func (x transfer) write(t testing.TB, out io.Writer) {
	w, err := pcap.NewWriter(out, 1, 128)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 14+20+60)
	up := int64(float64(x.rtt) * x.at / 2)
	down := x.rtt/2 - up
	base := int64(synthStart)
	x.packet(t, w, b, base+up, true, 999, 0, 0, 0x02)
	x.packet(t, w, b, base+up+2*down, false, 4999, 1000, 0, 0x12)
	x.packet(t, w, b, base+up+2*down+2*up, true, 1000, 5000, 0, 0x10)
	base += x.rtt + 50_000
	for _, e := range x.play() {
		if e.data {
			x.packet(t, w, b, base+e.t, true, 1000+e.seq, 5000, e.n, 0x10)
		} else {
			x.packet(t, w, b, base+e.t, false, 5000, 1000+e.ack, 0, 0x10)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

func (x transfer) packet(t testing.TB, w *pcap.Writer, b []byte, at int64, forward bool, seq, ack uint32, n int, flags byte) {
	clear(b)
	opt := 0
	tcp := b[34:]
	if flags&2 != 0 {
		copy(tcp[20:], []byte{2, 4, 0x05, 0xb4})
		opt = 4
	}
	if x.timestamps {
		copy(tcp[20+opt:], []byte{1, 1, 8, 10})
		binary.BigEndian.PutUint32(tcp[24+opt:], uint32(at/1e6))
		opt += 12
	}
	b[12], b[13] = 8, 0
	b[14] = 0x45
	binary.BigEndian.PutUint16(b[16:], uint16(40+opt+n))
	binary.BigEndian.PutUint16(b[18:], uint16(at/1000))
	b[22], b[23] = 64, 6
	src, dst := []byte{192, 168, 1, 4}, []byte{192, 168, 1, 11}
	sp, dp := uint16(20), 50000+x.port
	if !forward {
		src, dst, sp, dp = dst, src, dp, sp
	}
	copy(b[26:], src)
	copy(b[30:], dst)
	binary.BigEndian.PutUint16(tcp, sp)
	binary.BigEndian.PutUint16(tcp[2:], dp)
	binary.BigEndian.PutUint32(tcp[4:], seq)
	binary.BigEndian.PutUint32(tcp[8:], ack)
	tcp[12] = byte((20+opt)/4) << 4
	tcp[13] = flags
	binary.BigEndian.PutUint16(tcp[14:], uint16(min(x.window, 65535)))
	if err := w.Write(at, b[:54+opt], 54+opt+n); err != nil {
		t.Fatal(err)
	}
}
