package explain

import (
	"maps"
	"slices"
	"time"

	"github.com/linerate/linerate/result"
)

// View is what a rule judges: the figures of a whole Result, or of one trial
// in one direction with the median of its repeats.
type View struct {
	Trial     string // name of the trial; empty for the whole Result
	Direction string // "get" or "put", where the trial has one
	Duration  time.Duration
	Values    []result.Value // gauges as they stood, counters as they grew
	Best      float64        // goodput in bit/s that a quarter of the repeats reached; 0: there are none
}

// Views returns the totals of r, where it has any, and then every trial.
func Views(r *result.Result) []View {
	var views []View
	if len(r.Totals) > 0 {
		views = append(views, View{Duration: r.Duration, Values: r.Totals})
	}
	for trials := r.Trials; len(trials) > 0; {
		first := trials[0]
		var same, others []result.Trial
		for _, t := range trials {
			if sameTrial(t, first) {
				same = append(same, t)
			} else {
				others = append(others, t)
			}
		}
		views = append(views, merge(same))
		trials = others
	}
	return views
}

// sameTrial reports whether two trials differ only in repetition.
func sameTrial(a, b result.Trial) bool {
	params := func(t result.Trial) map[string]string {
		p := maps.Clone(t.Params)
		delete(p, "repeat")
		return p
	}
	return a.Name == b.Name && maps.Equal(params(a), params(b))
}

// merge takes the median of each value over the repeats of a trial.
func merge(repeats []result.Trial) View {
	v := View{Trial: repeats[0].Name, Direction: repeats[0].Params["direction"]}
	var durations []float64
	samples := map[int][]float64{}
	for _, t := range repeats {
		durations = append(durations, t.Duration.Seconds())
		for _, x := range t.Values {
			i := slices.IndexFunc(v.Values, func(y result.Value) bool { return x.Metric == y.Metric && maps.Equal(x.Labels, y.Labels) })
			if i < 0 {
				i, v.Values = len(v.Values), append(v.Values, x)
			}
			samples[i] = append(samples[i], x.V)
		}
	}
	for i, xs := range samples {
		if x := v.Values[i]; x.Metric == result.Goodput.Name && x.Labels["stream"] == "" {
			slices.Sort(xs)
			v.Best = xs[3*len(xs)/4]
		}
		v.Values[i].V = result.Summarize(xs).Median
	}
	v.Duration = time.Duration(result.Summarize(durations).Median * float64(time.Second))
	return v
}

// Get returns a value of m that carries the labels kv.
func (v View) Get(m result.Metric, kv ...string) (float64, bool) {
	return result.Get(v.Values, m, kv...)
}

// Sum adds the values of m that carry the labels kv.
func (v View) Sum(m result.Metric, kv ...string) (float64, bool) {
	return result.Sum(v.Values, m, kv...)
}

// Share returns a counter of seconds as a share of another.
func (v View) Share(m, of result.Metric) (float64, bool) {
	part, ok1 := v.Sum(m)
	whole, ok2 := v.Sum(of)
	if !ok1 || !ok2 || whole <= 0 {
		return 0, false
	}
	return part / whole, true
}

// Window returns what the receiver lets the sender have in flight, in bytes.
func (v View) Window() (float64, bool) {
	if w, ok := v.Get(result.TCPWindow, "window", "send"); ok {
		return w, true
	}
	return v.Get(result.TCPWindow)
}

// Busiest returns the name and the busy share of the busiest core, and the name
// of the busiest process and its share of one core.
func (v View) Busiest() (core string, coreShare float64, process string, processShare float64) {
	if busy, ok := v.Get(result.CoreBusy, "part", "busiest"); ok {
		core, coreShare = "busiest", busy
	}
	if busy, ok := v.Get(result.CoreBusy, "part", "process"); ok {
		process, processShare = "measured", busy
	}
	if v.Duration <= 0 {
		return core, coreShare, process, processShare
	}
	cores, processes := map[string]float64{}, map[string]float64{}
	for _, x := range v.Values {
		switch x.Metric {
		case result.CPUSeconds.Name:
			if mode := x.Labels["mode"]; mode != "idle" && mode != "iowait" {
				cores[x.Labels["cpu"]] += x.V / v.Duration.Seconds()
			}
		case result.ProcessCPU.Name:
			processes[x.Labels["process"]] += x.V / v.Duration.Seconds()
		}
	}
	if len(cores) > 0 {
		core, coreShare = greatest(cores)
	}
	if len(processes) > 0 {
		process, processShare = greatest(processes)
	}
	return core, coreShare, process, processShare
}

// greatest caps a share at one: a count of ticks may exceed the time by one.
func greatest(shares map[string]float64) (name string, share float64) {
	for _, k := range slices.Sorted(maps.Keys(shares)) {
		if name == "" || shares[k] > share {
			name, share = k, shares[k]
		}
	}
	return name, min(share, 1)
}

func label(v result.Value, name, value string) result.Value {
	v.Labels = maps.Clone(v.Labels)
	if v.Labels == nil {
		v.Labels = map[string]string{}
	}
	v.Labels[name] = value
	return v
}
