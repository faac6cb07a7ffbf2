package capture

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/linerate/linerate/result"
)

// datagramTrials adds a Trial for each of the largest UDP streams.
func (e *Engine) datagramTrials(r *result.Result) {
	type one struct {
		name string
		s    *stream
	}
	var all []one
	for f, d := range e.udp {
		for side := range d.dir {
			if s := &d.dir[side]; s.packets > 0 {
				all = append(all, one{fmt.Sprintf("%s > %s UDP", f.key.end(side), f.key.end(1-side)), s})
			}
		}
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Or(cmp.Compare(b.s.payload, a.s.payload), cmp.Compare(a.name, b.name)) })
	for _, x := range all[:min(len(all), e.o.Top)] {
		t := result.Trial{
			Name: x.name, Params: map[string]string{"connection": x.name}, Pass: true,
			Start: time.Duration(x.s.first - e.first), Duration: time.Duration(x.s.last - x.s.first), Values: x.s.values(),
		}
		if x.s.sequence.format != "" {
			if _, ok := x.s.sequence.lost(); ok {
				t.Note = "numbered by " + x.s.sequence.format
			}
		}
		r.Trials = append(r.Trials, t)
	}
}

// values are a stream's figures: rates where it has a length, loss where its
// sender numbers.
func (s *stream) values() []result.Value {
	vs := []result.Value{result.UDPDatagrams.Of(float64(s.packets)), result.Bytes.Of(float64(s.payload))}
	if d := seconds(s.last - s.first); d > 0 {
		// The first datagram opens the time that the others take.
		share := float64(s.packets-1) / float64(s.packets)
		vs = append(vs, result.Goodput.Of(float64(s.payload)*8*share/d), result.TCPWireRate.Of(float64(s.wire)*8*share/d),
			result.FrameRate.Of(float64(s.packets-1)/d))
		for _, q := range []float64{0.5, 0.99, 1} {
			vs = append(vs, result.UDPGap.Of(s.gaps.quantile(q)/1e9, "quantile", fmt.Sprint(q)))
		}
	}
	if lost, ok := s.sequence.lost(); ok {
		vs = append(vs, result.UDPLost.Of(float64(lost)))
		if s.sequence.late > 0 {
			vs = append(vs, result.TCPReordered.Of(float64(s.sequence.late)))
		}
	}
	return vs
}
