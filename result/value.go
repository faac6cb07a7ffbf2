package result

import (
	"maps"
	"slices"
	"time"
)

// Value is one number with its labels.
type Value struct {
	Metric string            `json:"metric"`
	Unit   string            `json:"unit"`
	Labels map[string]string `json:"labels,omitempty"`
	V      float64           `json:"v"`
}

// Of makes a Value of m; kv are label names and values in turn.
func (m Metric) Of(v float64, kv ...string) Value {
	x := Value{Metric: m.Name, Unit: m.Unit, V: v}
	for i := 0; i+1 < len(kv); i += 2 {
		if x.Labels == nil {
			x.Labels = map[string]string{}
		}
		x.Labels[kv[i]] = kv[i+1]
	}
	return x
}

// has reports whether v is a value of m that carries every label of kv.
func (v Value) has(m Metric, kv []string) bool {
	if v.Metric != m.Name {
		return false
	}
	for i := 0; i+1 < len(kv); i += 2 {
		if v.Labels[kv[i]] != kv[i+1] {
			return false
		}
	}
	return true
}

// Get returns the first value of m in vs that carries the labels kv (names and
// values in turn).
func Get(vs []Value, m Metric, kv ...string) (float64, bool) {
	for _, v := range vs {
		if v.has(m, kv) {
			return v.V, true
		}
	}
	return 0, false
}

// Sum adds the values of m in vs that carry the labels kv; ok is false where
// there is none.
func Sum(vs []Value, m Metric, kv ...string) (sum float64, ok bool) {
	for _, v := range vs {
		if v.has(m, kv) {
			sum, ok = sum+v.V, true
		}
	}
	return sum, ok
}

// Delta returns the growth of each counter from one set of values to a later
// one, and each gauge as it stands in the later set. A counter that is missing
// earlier is left out; one that fell (a reset) counts from zero.
func Delta(earlier, later []Value) []Value {
	var out []Value
	for i, v := range later {
		if m, known := Lookup(v.Metric); known && m.Kind == Gauge {
			out = append(out, v)
			continue
		}
		e, ok := find(earlier, v, i)
		if !ok {
			continue
		}
		if v.V >= e.V {
			v.V -= e.V
		}
		out = append(out, v)
	}
	return out
}

// find returns the value of vs with the metric and labels of v. It looks at
// guess first: a meter mostly writes its values in the same order each time.
func find(vs []Value, v Value, guess int) (Value, bool) {
	same := func(e Value) bool { return e.Metric == v.Metric && maps.Equal(e.Labels, v.Labels) }
	if guess < len(vs) && same(vs[guess]) {
		return vs[guess], true
	}
	if i := slices.IndexFunc(vs, same); i >= 0 {
		return vs[i], true
	}
	return Value{}, false
}

// Rates divides the counters among the values of Delta by the time they cover.
func Rates(deltas []Value, over time.Duration) []Value {
	if over <= 0 {
		return nil
	}
	var out []Value
	for _, v := range deltas {
		if m, ok := Lookup(v.Metric); ok && m.Kind == Gauge {
			continue
		}
		v.V /= over.Seconds()
		v.Unit += "/s"
		out = append(out, v)
	}
	return out
}
