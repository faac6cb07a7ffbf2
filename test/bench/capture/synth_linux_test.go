package capture

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/linerate/linerate/internal/wire/pcap"
)

// The transfer of the capture: segments at the pace of Gigabit Ethernet, each
// second one acknowledged after the round trip, as captured at the sender.
const (
	segment   = 1448
	gap       = 12_304    // ns between segments
	roundTrip = 2_000_000 // ns
	snap      = 128
	ahead     = roundTrip / gap &^ 1 // segments in flight
)

// write writes a transfer of n packets, headers only, to a file.
func write(b *testing.B, name string, n int) {
	b.Helper()
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w, err := pcap.NewWriter(f, 1, snap)
	if err != nil {
		b.Fatal(err)
	}
	t := int64(1_700_000_000_000_000_000)
	put := func(forward bool, seq, ack uint32, payload int, flags byte) {
		data, length := packet(forward, seq, ack, payload, flags, uint32(t/1e6))
		if err := w.Write(t, data, length); err != nil {
			b.Fatal(err)
		}
	}
	put(true, 999, 0, 0, 0x02)
	t += roundTrip
	put(false, 4999, 1000, 0, 0x12)
	t += 20_000
	put(true, 1000, 5000, 0, 0x10)
	seq := uint32(1000)
	for sent, k := 3, 0; sent < n; k++ {
		t += gap
		put(true, seq, 5000, segment, 0x10)
		seq += segment
		if sent++; k >= ahead && k&1 == 1 && sent < n {
			t += 100
			put(false, 5000, seq-ahead*segment, 0, 0x10)
			sent++
		}
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
}

// packet makes the headers of a segment with timestamps, and its length.
func packet(forward bool, seq, ack uint32, payload int, flags byte, stamp uint32) ([]byte, int) {
	b := make([]byte, snap)
	options := []byte{1, 1, 8, 10}
	options = binary.BigEndian.AppendUint32(options, stamp)
	options = binary.BigEndian.AppendUint32(options, stamp)
	if flags&2 != 0 {
		options = append(options, 2, 4, 0x05, 0xb4, 1, 3, 3, 7)
	}
	b[12] = 8
	ip, tcp := b[14:34], b[34:]
	ip[0], ip[8], ip[9] = 0x45, 64, 6
	binary.BigEndian.PutUint16(ip[2:], uint16(40+len(options)+payload))
	src, dst := []byte{10, 0, 0, 1}, []byte{10, 0, 0, 2}
	sport, dport := uint16(40000), uint16(20)
	if !forward {
		src, dst, sport, dport = dst, src, dport, sport
	}
	copy(ip[12:], src)
	copy(ip[16:], dst)
	binary.BigEndian.PutUint16(tcp, sport)
	binary.BigEndian.PutUint16(tcp[2:], dport)
	binary.BigEndian.PutUint32(tcp[4:], seq)
	binary.BigEndian.PutUint32(tcp[8:], ack)
	tcp[12], tcp[13] = byte((20+len(options))/4)<<4, flags
	binary.BigEndian.PutUint16(tcp[14:], 32768)
	copy(tcp[20:], options)
	n := 54 + len(options) + payload
	return b[:min(n, snap)], n
}
