package auto

import (
	"fmt"
	"math"
	"slices"

	"github.com/linerate/linerate/result"
)

// Figures are what a setting is judged by.
type Figures struct {
	Cost    float64 // softirq seconds per packet; NaN where it could not be measured
	Loss    float64 // share lost or sent again
	Goodput float64 // bit/s
}

// Pair is two measurements right after one another: without and with a change.
type Pair struct{ A, B Figures }

// Floor is how far figures differ from one measurement to the next when
// nothing is changed: costs and goodputs as natural logarithms of ratios.
type Floor Figures

// least are floors below which no gain is worth a setting (practice).
func least() Floor { return Floor{Cost: 0.02, Loss: 0.001, Goodput: 0.01} }

// dead stands for the goodput of a link that carries nothing, in bit/s, so that
// ratios stay finite.
const dead = 1

// FiguresOf reads the figures of a trial. A packet is a datagram that arrived,
// or a full segment's worth of TCP's payload, since offloads merge many
// segments into one.
func FiguresOf(t result.Trial) Figures {
	f := Figures{Cost: math.NaN()}
	f.Goodput, _ = result.Get(t.Values, result.Goodput)
	loss, datagrams := result.Get(t.Values, result.LossRatio)
	f.Loss = loss
	packets, counted := result.Sum(t.Values, result.DatagramsReceived)
	if again, ok := result.Get(t.Values, result.TCPRetransmits); ok && !datagrams {
		packets, counted = f.Goodput/8*t.Duration.Seconds()/fullSegment, f.Goodput > 0
		if packets > 0 {
			f.Loss = again / packets
		}
	}
	if spent, ok := softirq(t.Values); ok && counted && packets > 0 {
		f.Cost = spent / packets
	}
	return f
}

// fullSegment is the payload of a segment over Ethernet (RFC 9293 3.7.1), with
// timestamps (RFC 7323).
const fullSegment = 1448

// softirq is the time in the receive softirq by its tracepoints, or by the
// kernel's ticks.
func softirq(vs []result.Value) (float64, bool) {
	if s, ok := result.Sum(vs, result.SoftirqSeconds); ok {
		return s, true
	}
	return result.Sum(vs, result.CPUSeconds, "mode", "softirq")
}

// NoiseFloor is three standard errors of the median that Decide goes by, from
// pairs in which nothing was changed, with the deviation taken from the median
// one so that a single disturbance does not hide every gain.
func NoiseFloor(aa []Pair) Floor {
	f := least()
	for _, x := range []struct {
		of    func(Pair) float64
		floor *float64
	}{{costs, &f.Cost}, {losses, &f.Loss}, {goodputs, &f.Goodput}} {
		ds := differences(aa, x.of)
		for i := range ds {
			ds[i] = math.Abs(ds[i])
		}
		// The deviation of a normal distribution from its median deviation, and
		// the standard error of a median in those of a mean.
		const gauss, efficiency, errors = 1.4826, 1.2533, 3
		if n := len(ds); n > 0 {
			*x.floor = max(*x.floor, errors*efficiency*gauss*result.Summarize(ds).Median/math.Sqrt(float64(n)))
		}
	}
	return f
}

func costs(p Pair) float64    { return math.Log(p.A.Cost / p.B.Cost) }
func losses(p Pair) float64   { return p.A.Loss - p.B.Loss }
func goodputs(p Pair) float64 { return math.Log(max(p.B.Goodput, dead) / max(p.A.Goodput, dead)) }

// differences takes the gain of each pair, leaving out what was not measured.
func differences(pairs []Pair, of func(Pair) float64) []float64 {
	var ds []float64
	for _, p := range pairs {
		if d := of(p); !math.IsNaN(d) && !math.IsInf(d, 0) {
			ds = append(ds, d)
		}
	}
	return ds
}

// Decision is whether a step stays, and on which figures.
type Decision struct {
	Keep bool
	Why  string
	// Gains by figure: logarithms of ratios for cost and goodput, a difference
	// for loss; above 0 is better.
	Cost, Loss, Goodput float64
}

// Decide compares pairs by the median of their differences: loss first, then
// cost and goodput together. At a given load a lower cost decides; where the
// sender goes as fast as it can, more goodput counts as far as it is not paid
// for by cost.
func Decide(pairs []Pair, floor Floor) Decision {
	d := Decision{Cost: median(pairs, costs), Loss: median(pairs, losses), Goodput: median(pairs, goodputs)}
	better := func(gain, floor float64, of func(Pair) float64) bool { return gain > floor && agree(pairs, of) }
	switch {
	case d.Loss < -floor.Loss && d.Goodput < math.Ln2:
		d.Why = fmt.Sprintf("loss up by %.2g %%", -100*d.Loss)
	case d.Goodput < -floor.Goodput:
		d.Why = fmt.Sprintf("goodput %+.1f %%", percent(d.Goodput))
	case better(d.Loss, floor.Loss, losses):
		d.Keep, d.Why = true, fmt.Sprintf("loss down by %.2g %%", 100*d.Loss)
	case better(d.Goodput, floor.Goodput, goodputs) && d.Goodput+d.Cost > 0:
		d.Keep, d.Why = true, fmt.Sprintf("goodput %+.1f %%", percent(d.Goodput))
	case better(d.Cost, floor.Cost, costs):
		d.Keep, d.Why = true, fmt.Sprintf("softirq time per packet %+.1f %%", percent(-d.Cost))
	case unanimous(pairs, goodputs) && d.Goodput > least().Goodput && d.Goodput+d.Cost > 0:
		d.Keep, d.Why = true, fmt.Sprintf("goodput %+.1f %%, in each of %d pairs", percent(d.Goodput), len(pairs))
	case unanimous(pairs, costs) && d.Cost > least().Cost:
		d.Keep, d.Why = true, fmt.Sprintf("softirq time per packet %+.1f %%, in each of %d pairs", percent(-d.Cost), len(pairs))
	case d.Goodput > floor.Goodput:
		d.Why = fmt.Sprintf("goodput %+.1f %%, not in enough of the pairs or paid for by %+.1f %% time per packet", percent(d.Goodput), percent(-d.Cost))
	default:
		d.Why = fmt.Sprintf("within the noise of %.1f %% goodput, %.1f %% time per packet", percent(floor.Goodput), percent(floor.Cost))
	}
	return d
}

// Settled reports whether so few pairs leave no doubt already: all of them on
// one side, and far beyond what the noise could make of it.
func Settled(pairs []Pair, floor Floor) bool {
	const (
		fewest = 3
		far    = 4 // floors
	)
	if len(pairs) < fewest {
		return false
	}
	all := func(of func(Pair) float64, beyond func(float64) bool) bool {
		ds := differences(pairs, of)
		return len(ds) == len(pairs) && !slices.ContainsFunc(ds, func(x float64) bool { return !beyond(x) })
	}
	for _, x := range []struct {
		of    func(Pair) float64
		floor float64
	}{{losses, floor.Loss}, {goodputs, floor.Goodput}, {costs, floor.Cost}} {
		switch {
		case all(x.of, func(d float64) bool { return d > far*x.floor }):
			return Decide(pairs, floor).Keep
		case all(x.of, func(d float64) bool { return d < -far*x.floor }):
			return !Decide(pairs, floor).Keep
		}
	}
	return false
}

// percent is what a logarithm of a ratio means.
func percent(log float64) float64 { return 100 * (math.Exp(log) - 1) }

func median(pairs []Pair, of func(Pair) float64) float64 {
	return result.Summarize(differences(pairs, of)).Median // 0 where nothing was measured
}

// signs is how many pairs must all be better where the noise is too large for
// their median to tell: chance does that once in 128 times (sign test).
const signs = 7

func unanimous(pairs []Pair, of func(Pair) float64) bool {
	return len(pairs) >= signs && always(pairs, of)
}

// always reports whether every pair is better.
func always(pairs []Pair, of func(Pair) float64) bool {
	ds := differences(pairs, of)
	return len(ds) == len(pairs) && !slices.ContainsFunc(ds, func(x float64) bool { return x <= 0 })
}

// Promising reports whether pairs that settle nothing were all better so far,
// so that more of them may tell it from chance.
func Promising(pairs []Pair, floor Floor) bool {
	return len(pairs) < signs && !Decide(pairs, floor).Keep && (always(pairs, goodputs) || always(pairs, costs))
}

// agree reports whether all pairs but one in five are better.
func agree(pairs []Pair, of func(Pair) float64) bool {
	ds := differences(pairs, of)
	better := slices.DeleteFunc(slices.Clone(ds), func(x float64) bool { return x <= 0 })
	return len(better) >= len(ds)-len(ds)/5
}
