package run

import (
	"context"
	"time"

	"github.com/linerate/linerate/result"
)

// reader takes readings into a Result.
type reader struct {
	r      *result.Result
	meters []Meter
	sinks  []Sink
	gone   map[string]bool    // meters that failed
	cost   map[string]float64 // seconds spent in each, so that a meter's load is seen beside what it measures
}

func newReader(r *result.Result, meters []Meter, sinks []Sink) *reader {
	return &reader{r: r, meters: meters, sinks: sinks, gone: map[string]bool{}, cost: map[string]float64{}}
}

func (rd *reader) tick(ctx context.Context) {
	reading := result.Reading{At: time.Since(rd.r.Start)}
	for _, m := range rd.meters {
		name := m.Name()
		if rd.gone[name] {
			continue
		}
		begin := time.Now()
		vs, err := m.Read(ctx)
		rd.cost[name] += time.Since(begin).Seconds()
		if err != nil {
			rd.gone[name] = true
			rd.r.Gaps = append(rd.r.Gaps, result.Gap{Source: name, Reason: err.Error()})
			continue
		}
		reading.Values = append(reading.Values, vs...)
		reading.Values = append(reading.Values, result.MeterCost.Of(rd.cost[name], "meter", name))
	}
	rd.r.Readings = append(rd.r.Readings, reading)
	for _, s := range rd.sinks {
		s.Reading(reading)
	}
}
