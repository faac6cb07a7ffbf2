package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/explain"
	wire "github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/result"
)

// Message sizes of --sweep by name: powers of two with the payload of a full
// segment, and those of the Zynq packet processor's report.
const (
	defaultSweep = "64,128,256,512,1024,1448,2048,4096,8192,16384,32768,65536"
	zynqSweep    = "64,128,256,512,1024,1494,1500"
)

// sweepTime is how long one point of a sweep is measured unless --time says.
const sweepTime = 2 * time.Second

// Parameters that tell the trials of a series apart.
const (
	messageParam   = "message_bytes"
	directionParam = "direction"
	repeatParam    = "repeat"
)

// sizes returns the message sizes that the flags ask for.
func (s *streamFlags) sizes(t stream.Test) ([]int, error) {
	list := s.sweep
	switch list {
	case "":
		return []int{t.Message}, nil
	case "default":
		list = defaultSweep
	case "zynq":
		list = zynqSweep
	}
	var sizes []int
	for _, v := range strings.Split(list, ",") {
		err := size("--sweep", strings.TrimSpace(v), func(n int64) { sizes = append(sizes, int(min(n, math.MaxInt32))) })
		if err != nil {
			return nil, err
		}
	}
	return sizes, nil
}

// directions returns those that the flags ask for; a sweep that names none
// takes both in turn.
func (s *streamFlags) directions(t stream.Test) []stream.Direction {
	if s.sweep != "" && !s.directionGiven && !t.Transactions() {
		return []stream.Direction{stream.Transmit, stream.Receive}
	}
	return []stream.Direction{t.Direction}
}

// series measures every size and direction, --repeats times in turn, so that a
// disturbance falls on all of them alike.
func (s *streamFlags) series(ctx context.Context, target string, t stream.Test) (*result.Result, error) {
	sizes, err := s.sizes(t)
	if err != nil {
		return nil, err
	}
	if s.sweep != "" && s.test.Duration == 0 && t.Total() == 0 {
		t.Duration = sweepTime
	}
	l, err := lineTo(target, s.line)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	d, err := s.peer(target, t)
	if err != nil {
		return nil, err
	}
	r := &result.Result{Schema: result.SchemaID, ID: result.NewID(start), Origin: result.Measured, Start: start,
		Workload: t.Spec(d.Name(), target), Ending: result.Completed}
	delete(r.Workload.Params, "message")
	r.Workload.Params["sizes"] = strings.Trim(strings.Join(strings.Fields(fmt.Sprint(sizes)), ","), "[]")
	for repeat := range s.repeats {
		for _, n := range sizes {
			for _, dir := range s.directions(t) {
				t.Message, t.Direction = n, dir
				one, err := s.trial(ctx, target, t, l)
				if one != nil {
					s.add(r, one, t, repeat)
				}
				if err != nil || ctx.Err() != nil {
					return finish(r, errors.Join(err, context.Cause(ctx)))
				}
			}
		}
	}
	return finish(r, nil)
}

// trial measures one point.
func (s *streamFlags) trial(ctx context.Context, target string, t stream.Test, l line) (*result.Result, error) {
	if err := t.Check(); err != nil {
		return nil, usagef("%v", err)
	}
	d, err := s.peer(target, t)
	if err != nil {
		return nil, err
	}
	more, closeMeters, err := s.openMeters()
	if err != nil {
		return nil, err
	}
	defer closeMeters()
	var watch *beside
	if s.capture {
		if watch, err = watchBeside(withPort(target, wire.Port)); err != nil {
			return nil, err
		}
	}
	one, _, err := record(ctx, d, target, t, s.every, more...)
	if watch != nil {
		watch.into(one)
	}
	if one != nil {
		if limit := l.limit(t); limit > 0 {
			one.Totals = append(one.Totals, result.LineLimit.Of(limit))
		}
	}
	return one, err
}

// add makes a trial of a result.
func (s *streamFlags) add(r, one *result.Result, t stream.Test, repeat int) {
	params := map[string]string{messageParam: strconv.Itoa(t.Message), directionParam: string(t.Direction)}
	if s.repeats > 1 {
		params[repeatParam] = strconv.Itoa(repeat + 1)
	}
	trial := result.Trial{
		Name: fmt.Sprintf("%d B", t.Message), Params: params, Start: one.Start.Sub(r.Start),
		Duration: one.Duration, Values: without(one.Totals, directionParam, string(t.Direction)), Pass: one.Ending == result.Completed, Note: one.Error,
	}
	if f, ok := explain.Bound(explain.Explain(one)); ok && trial.Note == "" {
		trial.Note = f.Text
	}
	for _, f := range one.Findings { // of a capture beside it
		if f.Verdict == result.DoesNotLimit {
			continue // said once for each size it is too much
		}
		if trial.Note == "" || f.Rule == one.Findings[0].Rule {
			trial.Note = f.Text
		}
		f.Trial = fmt.Sprintf("%s %s: %s", trial.Name, t.Direction, f.Trial)
		r.Findings = append(r.Findings, f)
	}
	r.Ends = one.Ends
	r.Trials = append(r.Trials, trial)
	for _, g := range one.Gaps {
		if !slices.Contains(r.Gaps, g) {
			r.Gaps = append(r.Gaps, g)
		}
	}
}

// without drops a label that the trial's parameters say already.
func without(vs []result.Value, label, v string) []result.Value {
	for i := range vs {
		if vs[i].Labels[label] == v {
			vs[i].Labels = maps.Clone(vs[i].Labels)
			delete(vs[i].Labels, label)
		}
	}
	return vs
}

// finish closes the series: the best goodput and the cost per message and byte
// of each direction.
func finish(r *result.Result, err error) (*result.Result, error) {
	r.Duration = time.Since(r.Start)
	if err != nil {
		r.Ending, r.Error = result.Failed, err.Error()
		if errors.Is(err, context.Canceled) {
			r.Ending = result.Interrupted
		}
	}
	for _, dir := range []stream.Direction{stream.Transmit, stream.Receive, stream.Both} {
		r.Totals = append(r.Totals, cost(r, string(dir))...)
	}
	r.Findings = append(explain.Explain(r), r.Findings...)
	return r, err
}

// cost fits t = a + b m to the median time per message of a direction's sizes
// and leaves the residuals in its trials. A figure at the line's limit says
// nothing of the message's cost and is left out of the fit.
func cost(r *result.Result, dir string) []result.Value {
	goodputs, bound := map[int][]float64{}, map[int]bool{}
	for _, t := range r.Trials {
		m, err := strconv.Atoi(t.Params[messageParam])
		got, ok := result.Get(t.Values, result.Goodput)
		if t.Params[directionParam] != dir || err != nil || !ok || got <= 0 {
			continue
		}
		goodputs[m] = append(goodputs[m], got)
		if limit, ok := result.Get(t.Values, result.LineLimit); ok && got > 0.97*limit {
			bound[m] = true
		}
	}
	if len(goodputs) == 0 {
		return nil
	}
	best := 0.0
	var sizes, times []float64
	for _, m := range slices.Sorted(maps.Keys(goodputs)) {
		g := result.Summarize(goodputs[m]).Median
		best = max(best, g)
		if !bound[m] {
			sizes, times = append(sizes, float64(m)), append(times, float64(m)*8/g)
		}
	}
	vs := []result.Value{result.Goodput.Of(best, directionParam, dir)}
	f, err := stream.FitCost(sizes, times)
	if err != nil {
		return vs
	}
	for i := range r.Trials {
		t := &r.Trials[i]
		m, err := strconv.Atoi(t.Params[messageParam])
		at := slices.Index(sizes, float64(m))
		if err == nil && at >= 0 && t.Params[directionParam] == dir {
			t.Values = append(t.Values, result.FitResidual.Of(f.Residuals[at]))
		}
	}
	return append(vs, result.MessageCost.Of(f.A, directionParam, dir), result.ByteCost.Of(f.B, directionParam, dir))
}
