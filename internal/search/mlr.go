package search

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

// MLR searches for several goals at once (RFC 9971). It approaches each goal
// through coarser ones, with shorter sums and wider bounds, so that full
// effort is spent only near the answer.
type MLR struct {
	Goals    []Goal
	Max, Min FramesPerSecond // frame rates; Max is the line's or the tester's own limit
	Budget   time.Duration   // of trials together; 0: without limit
	Seen     func(Trial)     // told of every trial; may be nil
}

// GoalResult is what is known of one goal. Regular is false where a bound is
// missing or they are further apart than the width: figures must then be
// marked so (RFC 9971 section 4.8).
type GoalResult struct {
	Goal        Goal
	Lower       FramesPerSecond // relevant lower bound; 0 where there is none
	Upper       FramesPerSecond // relevant upper bound; 0 where there is none
	Conditional FramesPerSecond // conditional throughput at Lower
	Regular     bool
	Why         string // it is not regular
}

// Search measures until every goal is reached or the budget is spent. On an
// error the results of the trials so far are returned beside it.
func (s MLR) Search(ctx context.Context, m Measurer) ([]GoalResult, []Trial, error) {
	c := &controller{MLR: s, log: log{m: m, seen: s.Seen}}
	var err error
	for _, g := range s.Goals {
		if err = c.reach(ctx, g); err != nil {
			break
		}
	}
	if errors.Is(err, errBudget) {
		err = nil
	}
	var out []GoalResult
	for _, g := range s.Goals {
		out = append(out, c.result(g))
	}
	return out, c.trials, err
}

var errBudget = errors.New("time budget spent")

// controller chooses the loads.
type controller struct {
	MLR
	log
	spent time.Duration
}

// stages is the number of coarser goals before a goal.
const stages = 2

// reach works through the coarser goals to g itself.
func (c *controller) reach(ctx context.Context, g Goal) error {
	for k := stages; k >= 0; k-- {
		if err := c.solve(ctx, coarse(g, k)); err != nil {
			return err
		}
	}
	return nil
}

// coarse returns the goal k stages before g: twice the width and a part of the
// effort for each.
func coarse(g Goal, k int) Goal {
	first := cmp.Or(g.InitialTrial, g.Final)
	share := 1.0 - float64(k)/stages
	between := func(a, b time.Duration) time.Duration {
		return time.Duration(float64(a) * math.Pow(float64(b)/float64(a), share))
	}
	out := g
	out.Final = between(min(first, g.Final), g.Final)
	out.Sum = max(out.Final, between(out.Final, g.Sum))
	out.Width = g.width() * float64(int(1)<<k)
	return out
}

// solve measures until both bounds of g are known and near, or cannot exist.
func (c *controller) solve(ctx context.Context, g Goal) error {
	reach := 1.0 // widths to step away when looking for a bound
	for {
		lo, hi := c.bounds(g)
		var next FramesPerSecond
		switch {
		case hi == 0 && lo >= c.Max:
			return nil // no upper bound exists
		case hi == 0:
			next, reach = c.above(g, lo, reach), reach*2
		case lo == 0 && hi <= c.floor():
			return nil // no lower bound exists
		case lo == 0:
			next, reach = c.beneath(g, hi, reach), reach*2
		case g.near(lo, hi):
			return nil
		default:
			next, reach = middle(g, lo, hi), 1
		}
		if err := c.decide(ctx, g, next); err != nil {
			return err
		}
	}
}

func (c *controller) floor() FramesPerSecond { return max(c.Min, 1) }

// above looks for an upper bound: from the lower bound upwards, or from what
// the device forwarded at its worst, or at the maximum.
func (c *controller) above(g Goal, lo FramesPerSecond, reach float64) FramesPerSecond {
	if lo == 0 {
		return c.Max
	}
	return min(c.Max, FramesPerSecond(math.Ceil(float64(lo/FramesPerSecond(math.Pow(1-g.width(), reach))))))
}

// beneath looks for a lower bound: what the device forwarded under the load
// that was too much is the best guess at what it can do.
func (c *controller) beneath(g Goal, hi FramesPerSecond, reach float64) FramesPerSecond {
	next := g.below(hi, reach)
	if fwd := c.forwarded(hi); reach == 1 && fwd > 0 {
		next = min(next, g.below(fwd, 0.5))
	}
	return max(c.floor(), FramesPerSecond(math.Floor(float64(next))))
}

// forwarded returns the mean forwarding rate of the trials at load.
func (c *controller) forwarded(load FramesPerSecond) FramesPerSecond {
	sum, n := FramesPerSecond(0), 0
	for _, t := range c.at(load) {
		sum, n = sum+t.ForwardingRate, n+1
	}
	if n == 0 {
		return 0
	}
	return sum / FramesPerSecond(n)
}

// middle bisects in widths, so that the last step leaves exactly one.
func middle(g Goal, lo, hi FramesPerSecond) FramesPerSecond {
	widths := math.Log(float64(lo/hi)) / math.Log(1-g.width())
	next := FramesPerSecond(math.Round(float64(g.below(hi, max(1, math.Floor(widths/2))))))
	return min(max(next, lo+1), hi-1)
}

// decide measures at load until g can classify it.
func (c *controller) decide(ctx context.Context, g Goal, load FramesPerSecond) error {
	for g.Classify(c.at(load)) == Undecided {
		if c.Budget > 0 && c.spent+g.Final > c.Budget {
			return errBudget
		}
		t, err := c.measure(ctx, load, g.Final)
		if err != nil {
			return err
		}
		c.spent += t.EffectiveDuration
	}
	return nil
}

// at returns the trials at one load.
func (c *controller) at(load FramesPerSecond) []Trial {
	return slices.DeleteFunc(slices.Clone(c.trials), func(t Trial) bool { return t.Load != load })
}

// bounds returns the relevant bounds of g: the smallest load that is an upper
// bound, and the largest below it that is a lower bound; 0 where there is none.
func (c *controller) bounds(g Goal) (lo, hi FramesPerSecond) {
	var loads []FramesPerSecond
	for _, t := range c.trials {
		loads = append(loads, t.Load)
	}
	slices.Sort(loads)
	for _, load := range slices.Compact(loads) {
		switch g.Classify(c.at(load)) {
		case UpperBound:
			return lo, load
		case LowerBound:
			lo = load
		}
	}
	return lo, 0
}

func (c *controller) result(g Goal) GoalResult {
	r := GoalResult{Goal: g}
	r.Lower, r.Upper = c.bounds(g)
	if r.Lower > 0 {
		r.Conditional = g.ConditionalThroughput(r.Lower, c.at(r.Lower))
	}
	switch {
	case r.Lower == 0 && r.Upper == 0:
		r.Why = "no load was measured long enough"
	case r.Upper == 0:
		r.Why = "no load tried was too much"
	case r.Lower == 0:
		r.Why = "every load tried was too much"
	case !g.near(r.Lower, r.Upper):
		r.Why = "the time budget was spent before the bounds met"
	default:
		r.Regular = true
	}
	return r
}
