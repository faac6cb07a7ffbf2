package capture

import (
	"fmt"
	"time"

	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/result"
)

// maxMatches bounds the packets of the sender's capture that are remembered.
const maxMatches = 2 << 20

// Merge puts two captures of one connection, taken at its two ends, on one
// clock, and follows each packet from one to the other: delay, loss, queue.
//
// Feed it the sender's capture first, then the receiver's.
type Merge struct {
	key    key
	side   int // of the data's sender
	unit   int // payload bytes of a packet on the wire
	passed map[passage]int64
	full   bool
	packet frame.Packet

	data, acks  span // sent in the one capture, by direction
	lost        int64
	forward     histogram // data: receiver's clock minus sender's, less its minimum
	backward    histogram // acknowledgements the other way
	fwds, backs []int64   // raw differences, to find the minimum before
	first, last int64     // of the receiver's capture, its own clock
}

// span counts one kind of packet and when it was seen.
type span struct{ sent, matched int64 }

// passage names a packet so that both captures name it alike: segmentation
// offload may have cut or joined what one of them saw.
type passage struct {
	seq  uint32
	tag  uint32 // timestamp, or IP identification
	data bool
}

// NewMerge follows the connection of x, which the sender's capture showed.
func NewMerge(x *Connection) *Merge {
	return &Merge{key: x.e.c.flow.key, side: x.e.side, unit: x.e.s.full, passed: map[passage]int64{}}
}

// each calls f for every packet on the wire that the frame stands for.
func (m *Merge) each(fr *Frame, f func(passage)) {
	p := &m.packet
	if frame.Decode(fr.Link, fr.Data, fr.Len, p).Kind != frame.None || p.Proto != frame.ProtoTCP {
		return
	}
	k, side := keyOf(p)
	if k != m.key || p.Flags&(frame.SYN|frame.RST) != 0 {
		return
	}
	tag := p.Options.TSval
	if !p.Options.HasTimestamp {
		tag = uint32(p.ID)
	}
	if side != m.side {
		if p.Payload == 0 {
			f(passage{seq: p.Ack, tag: tag ^ uint32(p.Window)<<16})
		}
		return
	}
	for at := 0; at < p.Payload; at += m.unit {
		f(passage{seq: p.Seq + uint32(at), tag: tag, data: true})
	}
}

// AtSender takes a frame of the sender's capture.
func (m *Merge) AtSender(fr *Frame) {
	m.each(fr, func(k passage) {
		if len(m.passed) >= maxMatches {
			m.full = true
			return
		}
		if _, again := m.passed[k]; again {
			return
		}
		m.passed[k] = fr.At
		if k.data {
			m.data.sent++
		} else {
			m.acks.sent++
		}
	})
}

// AtReceiver takes a frame of the receiver's capture.
func (m *Merge) AtReceiver(fr *Frame) {
	m.each(fr, func(k passage) {
		if m.first == 0 {
			m.first = fr.At
		}
		m.last = fr.At
		at, ok := m.passed[k]
		if !ok {
			return
		}
		delete(m.passed, k)
		if k.data {
			m.data.matched++
			m.fwds = append(m.fwds, fr.At-at)
		} else {
			m.acks.matched++
			m.backs = append(m.backs, at-fr.At)
		}
	})
}

// Trial returns what the two captures say together. ok is false where they
// have too little in common.
//
// The clocks' difference is taken from the fastest packets of either way: half
// the difference of the two minima, which is exact where the empty path is as
// long one way as the other, and off by half of what it isn't.
func (m *Merge) Trial(name string) (t result.Trial, findings []result.Finding, ok bool) {
	if m.data.matched < 10 || m.acks.matched < 10 {
		return t, nil, false
	}
	fast, back := least(m.fwds), least(m.backs)
	offset := (fast - back) / 2
	for _, d := range m.fwds {
		m.forward.add(d - offset)
	}
	for _, d := range m.backs {
		m.backward.add(d + offset)
	}
	// What the sender sent while the other capture ran and didn't meet.
	for k, at := range m.passed {
		if k.data && at+offset >= m.first && at+offset < m.last-(fast-offset) {
			m.lost++
		}
	}
	t = result.Trial{Name: name, Params: map[string]string{"connection": name, "captured at": "both ends"}, Pass: true,
		Duration: time.Duration(m.last - m.first)}
	for dir, h := range map[string]*histogram{"forward": &m.forward, "reverse": &m.backward} {
		for _, q := range []float64{0, 0.5, 0.99} {
			t.Values = append(t.Values, result.TCPOneWayDelay.Of(h.quantile(q)/1e9, "direction", dir, "quantile", fmt.Sprint(q)))
		}
		t.Values = append(t.Values, result.TCPQueueDelay.Of((h.median()-float64(h.min))/1e9, "direction", dir))
	}
	t.Values = append(t.Values, result.DataSegmentsOut.Of(float64(m.data.sent)), result.DataSegmentsIn.Of(float64(m.data.matched)),
		result.TCPNetworkLost.Of(float64(m.lost)))
	t.Note = fmt.Sprintf("the receiver's clock is %+.6f s off the sender's", seconds(offset))
	return t, m.findings(name), true
}

func least(ds []int64) int64 {
	m := ds[0]
	for _, d := range ds {
		m = min(m, d)
	}
	return m
}

// findings says where the loss and the queue are.
func (m *Merge) findings(name string) []result.Finding {
	fq, bq := (m.forward.median()-float64(m.forward.min))/1e6, (m.backward.median()-float64(m.backward.min))/1e6
	text := fmt.Sprintf("Between the captures %d of %d data segments were lost; the usual queue is %.2f ms on the way there and %.2f ms on the way back.",
		m.lost, m.data.sent, fq, bq)
	f := result.Finding{Rule: "tcp.path", Trial: name, Verdict: result.Unknown, Text: text,
		Evidence: []result.Value{result.TCPNetworkLost.Of(float64(m.lost)), result.TCPQueueDelay.Of(fq/1e3, "direction", "forward"), result.TCPQueueDelay.Of(bq/1e3, "direction", "reverse")}}
	if m.full {
		f.Against = append(f.Against, fmt.Sprintf("only the first %d packets were followed", maxMatches))
	}
	return []result.Finding{f}
}
