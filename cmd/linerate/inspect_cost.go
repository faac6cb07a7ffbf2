package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/linerate/linerate/result"
)

// compared closes a comparison: each point gets the share of the goodput that
// inspection left and the CPU that it took for a frame, both against the trial
// without it of the same repeat; the totals are those of the largest messages.
func compared(r *result.Result, err error) (*result.Result, error) {
	r.Duration = time.Since(r.Start)
	if err != nil {
		r.Ending, r.Error = result.Failed, err.Error()
		if errors.Is(err, context.Canceled) {
			r.Ending = result.Interrupted
		}
	}
	for i := range r.Trials {
		t := &r.Trials[i]
		off := slices.IndexFunc(r.Trials, func(u result.Trial) bool { return isPointWithout(u, *t) })
		if off < 0 || t.Params[inspectionParam] == "off" {
			continue
		}
		base := r.Trials[off].Values
		got, _ := result.Get(t.Values, result.Goodput)
		if had, ok := result.Get(base, result.Goodput); ok && had > 0 {
			t.Values = append(t.Values, result.InspectShare.Of(got/had))
		}
		cost, ok1 := cpuPerFrame(t.Values)
		without, ok2 := cpuPerFrame(base)
		if ok1 && ok2 {
			t.Values = append(t.Values, result.InspectCost.Of(cost-without))
		}
	}
	r.Totals = append(r.Totals, largestMessages(r.Trials)...)
	return r, err
}

// isPointWithout reports whether u is the trial without inspection of t's
// point.
func isPointWithout(u, t result.Trial) bool {
	return u.Params[inspectionParam] == "off" && u.Params[messageParam] == t.Params[messageParam] &&
		u.Params[directionParam] == t.Params[directionParam] && u.Params[repeatParam] == t.Params[repeatParam]
}

// cpuPerFrame returns the CPU time of the whole machine for a frame of the
// payload's direction, whose label the trial's parameters have taken over.
func cpuPerFrame(vs []result.Value) (seconds float64, ok bool) {
	busy, frames := 0.0, 0.0
	for _, v := range vs {
		switch {
		case v.Metric == result.CPUSeconds.Name && !slices.Contains([]string{"idle", "iowait", "steal"}, v.Labels["mode"]):
			busy += v.V
		case v.Metric == result.NICFrames.Name && v.Labels[directionParam] == "":
			frames += v.V
		}
	}
	return busy / frames, busy > 0 && frames > 0
}

// largestMessages returns the medians of what inspection leaves and costs at
// the largest message size.
func largestMessages(trials []result.Trial) []result.Value {
	largest := 0
	for _, t := range trials {
		n, _ := strconv.Atoi(t.Params[messageParam]) // 0: not a trial of a size
		largest = max(largest, n)
	}
	type key struct{ way, mode string }
	var keys []key
	shares, costs := map[key][]float64{}, map[key][]float64{}
	for _, t := range trials {
		share, ok := result.Get(t.Values, result.InspectShare)
		if !ok || t.Params[messageParam] != strconv.Itoa(largest) {
			continue
		}
		k := key{t.Params[directionParam], t.Params[inspectionParam]}
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
		shares[k] = append(shares[k], share)
		if cost, ok := result.Get(t.Values, result.InspectCost); ok {
			costs[k] = append(costs[k], cost)
		}
	}
	var vs []result.Value
	for _, k := range keys {
		labels := []string{directionParam, k.way, inspectionParam, k.mode, messageParam, strconv.Itoa(largest)}
		vs = append(vs, result.InspectShare.Of(result.Summarize(shares[k]).Median, labels...))
		if len(costs[k]) > 0 {
			vs = append(vs, result.InspectCost.Of(result.Summarize(costs[k]).Median, labels...))
		}
	}
	return vs
}
