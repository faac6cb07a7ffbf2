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
	readings := []result.Reading{{At: time.Since(rd.r.Start)}} // this end's first
	for _, m := range rd.meters {
		name := m.Name()
		if rd.gone[name] {
			continue
		}
		to := &readings[0]
		if f, ok := m.(Far); ok {
			readings = append(readings, result.Reading{At: time.Since(rd.r.Start), End: f.End()})
			to = &readings[len(readings)-1]
		}
		begin := time.Now()
		vs, err := m.Read(ctx)
		rd.cost[name] += time.Since(begin).Seconds()
		if err != nil {
			rd.gone[name] = true
			rd.r.Gaps = append(rd.r.Gaps, result.Gap{Source: name, Reason: err.Error()})
			continue
		}
		to.Values = append(to.Values, vs...)
		to.Values = append(to.Values, result.MeterCost.Of(rd.cost[name], "meter", name))
	}
	for _, reading := range readings {
		if reading.End != "" && len(reading.Values) == 0 {
			continue // that end is lost
		}
		rd.r.Readings = append(rd.r.Readings, reading)
		for _, s := range rd.sinks {
			s.Reading(reading)
		}
	}
}
