package capture

import (
	"encoding/binary"
	"testing"

	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/result"
)

// datagramFrame is Ethernet, IPv4 and UDP around a payload.
func datagramFrame(payload []byte) []byte {
	b := make([]byte, 42, 42+len(payload))
	b[12], b[14], b[22], b[23] = 8, 0x45, 64, frame.ProtoUDP
	binary.BigEndian.PutUint16(b[16:], uint16(28+len(payload)))
	copy(b[26:], []byte{192, 0, 2, 1, 192, 0, 2, 2})
	binary.BigEndian.PutUint16(b[34:], 5001)
	binary.BigEndian.PutUint16(b[36:], 5201)
	binary.BigEndian.PutUint16(b[38:], uint16(8+len(payload)))
	return append(b, payload...)
}

func TestDatagrams(t *testing.T) {
	iperf3 := func(n int) []byte {
		p := binary.BigEndian.AppendUint32(nil, 1_700_000_000)
		p = binary.BigEndian.AppendUint32(p, uint32(n*100)%1_000_000)
		return append(binary.BigEndian.AppendUint32(p, uint32(n)), make([]byte, 1448)...)
	}
	own := func(n int) []byte { return frame.Signature{Sequence: uint64(n)}.Append(nil) }
	for name, c := range map[string]struct {
		make func(int) []byte
		lost float64
		ok   bool
	}{
		"iperf3":   {iperf3, 10, true},
		"ours":     {own, 10, true},
		"constant": {func(int) []byte { return make([]byte, 100) }, 0, false},
		"short":    {func(int) []byte { return []byte("hello") }, 0, false},
	} {
		e := NewEngine(Options{})
		for n := range 1000 {
			if n%100 == 50 {
				continue // ten of them are lost
			}
			b := datagramFrame(c.make(n))
			e.Add(&Frame{Data: b, At: 1e18 + int64(n)*100_000, Len: len(b), Link: frame.LinkEthernet})
		}
		r := e.Result(Source{})
		if len(r.Trials) != 1 {
			t.Fatalf("%s: %d trials", name, len(r.Trials))
		}
		vs := r.Trials[0].Values
		if n, _ := result.Get(vs, result.UDPDatagrams); n != 990 {
			t.Errorf("%s: %.0f datagrams", name, n)
		}
		if lost, ok := result.Get(vs, result.UDPLost); lost != c.lost || ok != c.ok {
			t.Errorf("%s: lost %.0f, %v, want %.0f, %v", name, lost, ok, c.lost, c.ok)
		}
		if rate, _ := result.Get(vs, result.FrameRate); rate < 9890 || rate > 9910 {
			t.Errorf("%s: %.1f frames/s", name, rate)
		}
	}
}
