package report

import (
	"maps"
	"slices"

	"github.com/linerate/linerate/result"
)

// repeats are the trials that differ only in repetition.
type repeats struct {
	name   string
	params map[string]string // without the number of the repeat
	trials []result.Trial
}

// gather puts repeats together, in order of first appearance.
func gather(trials []result.Trial) []repeats {
	var out []repeats
	index := map[string]int{}
	for _, t := range trials {
		params := maps.Clone(t.Params)
		delete(params, repeatParam)
		key := t.Name + "\x00" + labels(params)
		i, seen := index[key]
		if !seen {
			i = len(out)
			index[key] = i
			out = append(out, repeats{name: t.Name, params: params})
		}
		out[i].trials = append(out[i].trials, t)
	}
	return out
}

// series are the values of one metric and set of labels, one from each repeat.
type series struct {
	value result.Value // its V is not used
	vs    []float64
}

// figures lists what the repeats measured.
func (r repeats) figures() []series {
	var all []result.Value
	for _, t := range r.trials {
		all = append(all, t.Values...)
	}
	return bySeries(all)
}

// bySeries splits values by metric and labels, in order of first appearance.
func bySeries(values []result.Value) []series {
	var out []series
	index := map[string]int{}
	for _, v := range values {
		key := v.Metric + "\x00" + labels(v.Labels)
		i, seen := index[key]
		if !seen {
			i = len(out)
			index[key] = i
			out = append(out, series{value: v})
		}
		out[i].vs = append(out[i].vs, v.V)
	}
	return slices.Clip(out)
}
