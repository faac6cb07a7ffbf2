package search

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Goal is a search goal of MLRsearch (RFC 9971 section 4.6).
type Goal struct {
	Name         string
	Final        time.Duration // final trial duration
	Sum          time.Duration // duration sum
	LossRatio    float64       // goal loss ratio, 0 to below 1
	ExceedRatio  float64       // goal exceed ratio, 0 to below 1
	Width        float64       // relative; 0 means DefaultWidth
	InitialTrial time.Duration // 0 means Final
}

// DefaultWidth is the relative width of a goal that names none.
const DefaultWidth = 0.005

// RFC2544 is RFC 2544 throughput as a goal.
func RFC2544() Goal {
	return Goal{Name: "RFC 2544", Final: 60 * time.Second, Sum: 60 * time.Second}
}

// NDRPDR are the non-drop and partial drop rate goals with trials of a second.
func NDRPDR() []Goal {
	g := Goal{Final: time.Second, Sum: 20 * time.Second, ExceedRatio: 0.5}
	ndr, pdr := g, g
	ndr.Name, pdr.Name, pdr.LossRatio = "NDR", "PDR", 0.005
	return []Goal{ndr, pdr}
}

// Class is what the trials at one load say of it.
type Class int

// The classes of a load.
const (
	Undecided Class = iota
	LowerBound
	UpperBound
)

func (c Class) String() string { return [...]string{"undecided", "lower bound", "upper bound"}[c] }

// Classify judges a load from all trials at it (RFC 9971 appendix A).
func (g Goal) Classify(trials []Trial) Class {
	var shortHigh, shortLow, fullHigh, fullLow float64 // sums of effective durations, s
	for _, t := range trials {
		d := t.EffectiveDuration.Seconds()
		high, full := t.LossRatio > g.LossRatio, t.Duration >= g.Final
		switch {
		case full && high:
			fullHigh += d
		case full:
			fullLow += d
		case high:
			shortHigh += d
		default:
			shortLow += d
		}
	}
	balance := shortLow * g.ExceedRatio / (1 - g.ExceedRatio)
	effHigh := fullHigh + max(0, shortHigh-balance)
	whole := max(fullLow+effHigh, g.Sum.Seconds())
	limit := whole * g.ExceedRatio
	optimistic := effHigh <= limit
	pessimistic := whole-fullLow <= limit
	switch {
	case optimistic && pessimistic:
		return LowerBound
	case !optimistic && !pessimistic:
		return UpperBound
	}
	return Undecided
}

// ConditionalThroughput is the forwarding rate that the load can be counted on
// for, given the trials at it (RFC 9971 appendix B).
func (g Goal) ConditionalThroughput(load FramesPerSecond, trials []Trial) FramesPerSecond {
	full := slices.DeleteFunc(slices.Clone(trials), func(t Trial) bool { return t.Duration < g.Final })
	slices.SortStableFunc(full, func(a, b Trial) int { return cmp.Compare(a.LossRatio, b.LossRatio) })
	sum := 0.0
	for _, t := range full {
		sum += t.EffectiveDuration.Seconds()
	}
	remaining := max(g.Sum.Seconds(), sum) * (1 - g.ExceedRatio)
	loss := 0.0
	for _, t := range full {
		if remaining <= 0 {
			break
		}
		loss = t.LossRatio
		remaining -= t.EffectiveDuration.Seconds()
	}
	if remaining > 1e-9 {
		loss = 1 // never measured long enough
	}
	return load * FramesPerSecond(1-loss)
}

// width is the relative distance below which two bounds are close enough.
func (g Goal) width() float64 {
	if g.Width > 0 {
		return g.Width
	}
	return max(DefaultWidth, g.LossRatio)
}

// near reports whether lo and hi are within the goal's width of each other.
func (g Goal) near(lo, hi FramesPerSecond) bool { return float64(lo) >= float64(hi)*(1-g.width())-1 }

// below returns the load one width under x.
func (g Goal) below(x FramesPerSecond, widths float64) FramesPerSecond {
	return x * FramesPerSecond(math.Pow(1-g.width(), widths))
}
