package auto

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/lever"
	"github.com/linerate/linerate/result"
)

// Parameters that tell trials apart.
const (
	stepParam    = "step"
	settingParam = "setting" // without the change of the step, or with it
	repeatParam  = "repeat"

	sideBefore = "before"
	sideAfter  = "after"
	asFound    = "as found"
)

// measure takes one trial into the Result. A link that carries nothing is a
// trial too, of no goodput.
func (s *session) measure(ctx context.Context, step int, name, side string, repeat int) (result.Trial, error) {
	if ctx.Err() != nil {
		return result.Trial{}, context.Cause(ctx)
	}
	at := time.Since(s.r.Start)
	one, err := s.Bench.Measure(ctx)
	if one == nil {
		return result.Trial{}, errors.Join(err, ctx.Err())
	}
	if ctx.Err() != nil {
		return result.Trial{}, context.Cause(ctx)
	}
	t := result.Trial{Name: name, Start: at, Duration: one.Duration, Pass: err == nil,
		Params: map[string]string{stepParam: strconv.Itoa(step), settingParam: side, repeatParam: strconv.Itoa(repeat)}}
	for _, v := range one.Totals {
		// A workload has one way; the counters of an interface have two.
		if v.Labels["direction"] != "" && !strings.HasPrefix(v.Metric, "nic_") {
			v.Labels = maps.Clone(v.Labels)
			delete(v.Labels, "direction")
		}
		t.Values = append(t.Values, v)
	}
	if err != nil {
		t.Note = err.Error()
		t.Values = append(t.Values, result.Goodput.Of(0))
	}
	if s.r.Workload.Kind == "" {
		s.r.Workload = result.Workload{Kind: "tune.auto", Params: map[string]string{"workload": one.Workload.Kind, "pairs": strconv.Itoa(s.Pairs)}}
		maps.Copy(s.r.Workload.Params, one.Workload.Params)
	}
	s.r.Ends = one.Ends
	for _, g := range one.Gaps {
		if !containsGap(s.r.Gaps, g) {
			s.r.Gaps = append(s.r.Gaps, g)
		}
	}
	s.r.Trials = append(s.r.Trials, t)
	s.tell(Event{Step: step, Name: name, Trial: &t})
	return t, nil
}

func containsGap(gaps []result.Gap, g result.Gap) bool {
	for _, have := range gaps {
		if have == g {
			return true
		}
	}
	return false
}

// turn makes the changes of a step and returns how many are in force.
func (s *session) turn(ctx context.Context, step Step) (in int, err error) {
	for _, t := range step.Turns {
		c, err := t.At.Apply(ctx, t.Move, step.Rule)
		if c.Lever != "" && !lever.Same(c.Before, c.After) {
			in++
		}
		if err != nil {
			return in, err
		}
	}
	return in, nil
}

// back undoes the first so many turns of a step, last first.
func (s *session) back(ctx context.Context, step Step, in int) error {
	var errs []error
	for i := in - 1; i >= 0; i-- {
		err := step.Turns[i].At.Back(ctx)
		if errors.Is(err, ErrLeft) {
			s.r.Gaps = append(s.r.Gaps, result.Gap{Source: step.Name, Reason: err.Error()})
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("put back: %w", err))
		}
	}
	return errors.Join(errs...)
}

// refuse ends a step whose setting could not be made; that it was accepted and
// had no effect is worth a word of its own.
func (s *session) refuse(ctx context.Context, n, first int, step Step, in int, why error) error {
	if err := s.back(context.WithoutCancel(ctx), step, in); err != nil {
		return errors.Join(why, err)
	}
	d := Decision{Why: why.Error()}
	if errors.Is(why, lever.ErrUnchanged) {
		d.Why = "accepted, but not in force: " + d.Why
	}
	s.r.Gaps = append(s.r.Gaps, result.Gap{Source: step.Name, Reason: d.Why})
	s.note(first, step, d)
	s.tell(Event{Step: n, Name: step.Name, Decision: &d})
	return nil
}

// note writes into the trials of a step, from the first of them on, what was
// decided and why, and the changes kept into the Result.
func (s *session) note(first int, step Step, d Decision) {
	verdict := "put back: "
	if d.Keep {
		verdict = "kept: "
		for _, t := range step.Turns {
			s.r.Changes = append(s.r.Changes, result.Change{Lever: t.ID, Before: t.Before, After: t.Value, At: time.Now(), Why: step.Rule, End: t.At.Role()})
		}
	}
	for i := first; i < len(s.r.Trials); i++ {
		t := &s.r.Trials[i]
		t.Note = step.Rule + ", " + verdict + d.Why
		if step.Trade != "" {
			t.Note += "; trade: " + step.Trade
		}
		t.Pass = t.Pass && (d.Keep || t.Params[settingParam] == sideBefore)
	}
}

// close sums up: the totals are those of the settings in force at the end.
func (s *session) close() {
	if len(s.now) == 0 {
		return
	}
	for _, m := range []result.Metric{result.Goodput, result.LossRatio, result.LineLimit} {
		var xs []float64
		for _, t := range s.now {
			if x, ok := result.Get(t.Values, m); ok {
				xs = append(xs, x)
			}
		}
		if len(xs) > 0 {
			s.r.Totals = append(s.r.Totals, m.Of(result.Summarize(xs).Median))
		}
	}
}
