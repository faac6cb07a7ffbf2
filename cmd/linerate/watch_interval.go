package main

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/linerate/linerate/result"
)

// interval is what happened between two readings, in units a second.
type interval struct {
	links   []linkRates
	cores   []coreRates
	lines   []irqRates // busiest first, those of devices before the rest
	network map[string]float64
}

// linkRates is one direction of one interface.
type linkRates struct {
	name, direction        string
	bits, frames           float64
	dropped, errors, total float64 // total: bytes since the interface came up
}

// coreRates is one core: modes as shares of the time.
type coreRates struct {
	cpu                                 string
	user, system, irq, softirq, steal   float64
	interrupts, frames, squeezes, drops float64
}

// irqRates is one interrupt line on its busiest core.
type irqRates struct {
	irq, device, cpu string
	rate             float64
}

func newInterval(before, after result.Reading) interval {
	rates := result.Rates(result.Delta(before.Values, after.Values), after.At-before.At)
	return interval{
		links: linksOf(rates, after.Values), cores: coresOf(rates, after.At-before.At),
		lines: linesOf(rates), network: networkOf(rates),
	}
}

// labels lists the values of a label among the values of a metric, numbers in
// their order.
func labels(vs []result.Value, m result.Metric, name string) []string {
	seen := map[string]bool{}
	for _, v := range vs {
		if v.Metric == m.Name {
			seen[v.Labels[name]] = true
		}
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b string) int {
		x, errX := strconv.Atoi(a)
		y, errY := strconv.Atoi(b)
		if errX == nil && errY == nil {
			return cmp.Compare(x, y)
		}
		return cmp.Compare(a, b)
	})
}

func linksOf(rates, totals []result.Value) []linkRates {
	var out []linkRates
	for _, name := range labels(rates, result.NICFrames, "interface") {
		for _, direction := range []string{"rx", "tx"} {
			of := func(vs []result.Value, m result.Metric) float64 {
				sum, _ := result.Sum(vs, m, "interface", name, "direction", direction)
				return sum
			}
			out = append(out, linkRates{
				name: name, direction: direction, bits: 8 * of(rates, result.NICBytes), frames: of(rates, result.NICFrames),
				dropped: of(rates, result.NICDropped), errors: of(rates, result.NICErrors), total: of(totals, result.NICBytes),
			})
		}
	}
	return out
}

func coresOf(rates []result.Value, over time.Duration) []coreRates {
	var out []coreRates
	for _, core := range labels(rates, result.CPUSeconds, "cpu") {
		of := func(m result.Metric, kv ...string) float64 {
			sum, _ := result.Sum(rates, m, append(kv, "cpu", core)...)
			return sum
		}
		all := of(result.CPUSeconds)
		if all <= 0 || over <= 0 {
			all = 1
		}
		share := func(modes ...string) (sum float64) {
			for _, mode := range modes {
				sum += of(result.CPUSeconds, "mode", mode)
			}
			return sum / all
		}
		out = append(out, coreRates{
			cpu: core, user: share("user", "nice"), system: share("system"), irq: share("irq"), softirq: share("softirq"), steal: share("steal"),
			interrupts: of(result.Interrupts), frames: of(result.SoftnetFrames), squeezes: of(result.SoftnetSqueezed), drops: of(result.SoftnetDropped),
		})
	}
	return out
}

func linesOf(rates []result.Value) []irqRates {
	var out []irqRates
	for _, v := range rates {
		if v.Metric == result.Interrupts.Name && v.V > 0 {
			out = append(out, irqRates{v.Labels["irq"], v.Labels["device"], v.Labels["cpu"], v.V})
		}
	}
	// A device's lines are numbered; the architecture's own, such as timers,
	// would crowd them out.
	own := func(l irqRates) int {
		if _, err := strconv.Atoi(l.irq); err == nil {
			return 0
		}
		return 1
	}
	slices.SortFunc(out, func(a, b irqRates) int {
		return cmp.Or(cmp.Compare(own(a), own(b)), cmp.Compare(b.rate, a.rate), cmp.Compare(a.irq, b.irq), cmp.Compare(a.cpu, b.cpu))
	})
	return out
}

func networkOf(rates []result.Value) map[string]float64 {
	out := map[string]float64{}
	for _, v := range rates {
		if v.Metric == result.NetworkCounter.Name {
			out[v.Labels["counter"]] = v.V
		}
	}
	return out
}
