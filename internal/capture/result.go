package capture

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/result"
)

// Source says where the frames came from.
type Source struct {
	Name   string // file or interface
	Format string // "pcapng, gzip", "live"
	Filter string
	Drops  uint64 // frames lost by the capturing tool
	Cut    string // why the file ended early, "" where it didn't
}

// Result ends the analysis and returns it: one Trial for each of the largest
// directions, with its findings.
func (e *Engine) Result(src Source) *result.Result {
	start := time.Unix(0, e.first).UTC()
	r := &result.Result{
		Schema: result.SchemaID, ID: result.NewID(start), Origin: result.Captured, Ending: result.Completed,
		Start: start, Duration: time.Duration(e.last - e.first),
		Workload: result.Workload{Kind: "capture", Params: map[string]string{"source": src.Name, "format": src.Format}},
	}
	if src.Filter != "" {
		r.Workload.Params["filter"] = src.Filter
	}
	connections := e.Connections()
	e.totals(r, src)
	for _, x := range connections {
		s := x.e.s
		r.Trials = append(r.Trials, result.Trial{
			Name: x.Name(), Params: map[string]string{"connection": x.Name(), "captured at": x.e.vantage.String()},
			Start: time.Duration(s.first - e.first), Duration: time.Duration(s.last - s.first),
			Values: x.Values, Pass: true, Note: x.Verdict,
		})
		r.Findings = append(r.Findings, x.Findings...)
		r.Readings = append(r.Readings, x.readings(e.first)...)
	}
	slices.SortStableFunc(r.Readings, func(a, b result.Reading) int { return cmp.Compare(a.At, b.At) })
	e.datagramTrials(r)
	e.gaps(r, src)
	return r
}

func (e *Engine) totals(r *result.Result, src Source) {
	r.Totals = []result.Value{
		result.CapturePackets.Of(float64(e.frames)), result.CaptureBytes.Of(float64(e.bytes)),
		result.CaptureFlows.Of(float64(e.flows.n)),
	}
	if e.timebase.steps > 0 {
		r.Totals = append(r.Totals, result.CaptureClockSteps.Of(float64(e.timebase.steps)))
	}
	if src.Drops > 0 {
		r.Totals = append(r.Totals, result.CaptureDrops.Of(float64(src.Drops)))
	}
	for _, f := range e.sortedFaults() {
		r.Totals = append(r.Totals, result.CaptureUndecoded.Of(float64(e.faults[f]), "reason", f.String()))
	}
}

// sortedFaults lists what could not be decoded, the commonest first.
func (e *Engine) sortedFaults() []frame.Fault {
	return slices.SortedFunc(maps.Keys(e.faults), func(a, b frame.Fault) int {
		return cmp.Or(cmp.Compare(e.faults[b], e.faults[a]), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Value, b.Value))
	})
}

// gaps names what the figures don't cover.
func (e *Engine) gaps(r *result.Result, src Source) {
	gap := func(format string, args ...any) {
		r.Gaps = append(r.Gaps, result.Gap{Source: src.Name, Reason: fmt.Sprintf(format, args...)})
	}
	if src.Cut != "" {
		gap("%s; figures cover what was read", src.Cut)
	}
	for _, f := range e.sortedFaults() {
		gap("%d packets not analysed: %s", e.faults[f], f)
	}
	if src.Drops > 0 {
		gap("the capturing tool lost %d packets", src.Drops)
	}
	if e.filtered > 0 {
		gap("%d packets left out by the filter", e.filtered)
		for _, link := range slices.Sorted(maps.Keys(e.o.Filter.refused)) {
			gap("none of link type %d can pass: %v", link, e.o.Filter.refused[link])
		}
	}
	if e.evicted > 0 {
		gap("%d connections were judged before their end, to bound memory", e.evicted)
	}
	if e.timebase.steps > 0 {
		gap("the capturing clock was set %d times; times after it are estimates", e.timebase.steps)
	}
}

// readings are the points of a direction's series, times since the capture
// began.
func (x *Connection) readings(begin int64) []result.Reading {
	s := x.e.s.series
	if s == nil {
		return nil
	}
	flow := x.Name()
	zero := x.e.s.origin()
	var out []result.Reading
	var bytes, acks, resent float64
	var last point
	for _, p := range s.points[:s.used] {
		at := time.Duration(s.start - begin + int64(len(out))*s.width)
		if p.flight == 0 {
			p.flight = last.flight
		}
		last = point{next: max(last.next, p.next), una: max(last.una, p.una), edge: max(last.edge, p.edge), flight: p.flight}
		bytes, acks, resent = bytes+float64(p.bytes), acks+float64(p.acks), resent+float64(p.resent)
		vs := []result.Value{
			result.Bytes.Of(bytes, "flow", flow), result.TCPInFlight.Of(float64(p.flight), "flow", flow),
			result.TCPRetransmits.Of(resent, "flow", flow), result.SegmentsIn.Of(acks, "flow", flow),
			result.TCPSequence.Of(float64(max(last.next-zero, 0)), "flow", flow, "edge", "sent"),
			result.TCPSequence.Of(float64(max(last.una-zero, 0)), "flow", flow, "edge", "acknowledged"),
		}
		if last.edge > 0 {
			vs = append(vs, result.TCPSequence.Of(float64(max(last.edge-zero, 0)), "flow", flow, "edge", "window"),
				result.TCPWindow.Of(float64(max(last.edge-max(last.una, zero), 0)), "flow", flow))
		}
		if p.rttN > 0 {
			vs = append(vs, result.TCPRTT.Of(seconds(p.rtt/p.rttN), "flow", flow))
		}
		if p.acks > 0 {
			vs = append(vs, result.BytesPerACK.Of(float64(p.bytes)/float64(p.acks), "flow", flow))
		}
		out = append(out, result.Reading{At: at, Values: vs})
	}
	return out
}
