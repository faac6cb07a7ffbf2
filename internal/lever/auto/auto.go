// Package auto tunes a link in a closed loop: measure, let the rules explain,
// try the first change they name at either end, and keep it only where paired
// measurements show a gain beyond their own noise. What is not kept is put
// back.
//
// The package decides and keeps the record; what is measured (a Bench), where
// settings are turned (a Box) and what explains figures are given to it.
package auto

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/linerate/linerate/result"
)

// Bench measures the link once, with the settings as they stand.
type Bench interface {
	// Measure returns a Result with Totals and Ends. A link that does not
	// carry the workload gives an error beside what was counted.
	Measure(ctx context.Context) (*result.Result, error)
}

// Defaults of Loop. Five pairs is the least that tells a median from chance.
const (
	DefaultPairs = 5
	DefaultSteps = 12
)

// Loop is one tuning session.
type Loop struct {
	Bench Bench
	Boxes []Box // the nearest first
	// Explain returns what may bound the last of r's trials, likeliest first.
	Explain func(r *result.Result) []result.Finding
	// Pairs are the measurements with and without each change, 0: DefaultPairs;
	// fewer where the first ones leave no doubt.
	Pairs int
	Steps int // changes to try at most; 0: DefaultSteps
	// Watch is told of each trial that is done and each step that is decided;
	// nil: nobody is.
	Watch func(Event)
}

// Event tells a viewer how far the loop has come.
type Event struct {
	Step     int // 0: as found
	Name     string
	Trial    *result.Trial // a trial was measured
	Decision *Decision     // a step was decided
	Finding  *result.Finding
}

// mostPrograms is how many other programs are moved at most: on a busy machine
// there is always one more, and the link's own settings get no turn.
const mostPrograms = 2

// ending is why a session had nothing more to try.
type ending string

// Run tunes until the line is full, nothing is left to try, or ctx ends, and
// returns the Result: every trial, every change kept, what each step rested
// on. Changes that were kept stay in the boxes' journals, not confirmed. The
// Result is complete also beside an error.
func (l *Loop) Run(ctx context.Context) (*result.Result, error) {
	s := &session{Loop: l, r: &result.Result{Schema: result.SchemaID, Origin: result.Measured, Start: time.Now(), Ending: result.Completed}}
	s.r.ID = result.NewID(s.r.Start)
	if s.Pairs <= 0 {
		s.Pairs = DefaultPairs
	}
	if s.Steps <= 0 {
		s.Steps = DefaultSteps
	}
	why, err := s.climb(ctx)
	s.r.Duration = time.Since(s.r.Start)
	switch {
	case ctx.Err() != nil:
		s.r.Ending, s.r.Error = result.Interrupted, context.Cause(ctx).Error()
	case err != nil:
		s.r.Ending, s.r.Error = result.Failed, err.Error()
	default:
		s.r.Workload.Params["ended"] = string(why)
	}
	s.close()
	return s.r, err
}

// session is a Loop under way.
type session struct {
	*Loop
	r     *result.Result
	now   []result.Trial // of the settings in force
	floor Floor
	tried map[string]bool

	programs int // that were to be moved
}

func (s *session) climb(ctx context.Context) (ending, error) {
	s.tried = map[string]bool{}
	var err error
	if s.now, err = s.asFound(ctx); err != nil {
		return "", err
	}
	for n := 1; n <= s.Steps; n++ {
		step, why := s.next(ctx)
		if step == nil {
			return why, nil
		}
		if err := s.try(ctx, n, *step); err != nil {
			return "", fmt.Errorf("step %d, %s: %w", n, step.Name, err)
		}
	}
	return "tried as many changes as it may", nil
}

// asFound measures while nothing is changed: the baseline, and the noise that a
// change has to beat, from the differences between neighbours. Each measurement
// but the first and the last serves two pairs.
func (s *session) asFound(ctx context.Context) ([]result.Trial, error) {
	var pairs []Pair
	var trials []result.Trial
	for n := range s.Pairs + 1 {
		t, err := s.measure(ctx, 0, asFound, sideBefore, n+1)
		if err != nil {
			return nil, err
		}
		if trials = append(trials, t); n > 0 {
			pairs = append(pairs, Pair{FiguresOf(trials[n-1]), FiguresOf(t)})
		}
	}
	s.floor = NoiseFloor(pairs)
	return trials, nil
}

// next chooses the change to try: the first applicable lever of the first finding
// that has one.
func (s *session) next(ctx context.Context) (*Step, ending) {
	fs := s.Explain(&result.Result{Trials: s.now, Ends: s.r.Ends, Workload: s.r.Workload})
	for i := range fs {
		fs[i].Trial = s.now[0].Name
	}
	if n := len(s.r.Findings); n == 0 || s.r.Findings[n-1].Trial != s.now[0].Name {
		s.r.Findings = append(s.r.Findings, fs...)
	}
	if len(fs) > 0 && fs[0].Rule == "line.at-rate" && fs[0].Verdict == result.Limits {
		return nil, "at line rate: nothing to gain"
	}
	plan := Plan(ctx, fs, s.Boxes)
	for _, step := range plan.Steps {
		if !s.tried[step.key()] && !s.moved(step) {
			if strings.HasPrefix(step.Turns[0].ID, "process.") {
				if s.programs++; s.programs > mostPrograms {
					continue
				}
			}
			s.tried[step.key()] = true
			return &step, ""
		}
	}
	if len(fs) == 0 {
		return nil, "no rule says what bounds it"
	}
	return nil, "nothing that the findings name is left to try here"
}

// moved reports whether all settings of a step were changed and kept before:
// what the same advice says next, such as "another core", would only go round.
func (s *session) moved(step Step) bool {
	for _, t := range step.Turns {
		if !slices.ContainsFunc(s.r.Changes, func(c result.Change) bool { return c.Lever == t.ID && c.End == t.At.Role() }) {
			return false
		}
	}
	return true
}

// try measures a step in pairs, ABBA, and keeps it or puts it back.
func (s *session) try(ctx context.Context, n int, step Step) (err error) {
	name := strconv.Itoa(n) + " " + step.Name
	var pairs []Pair
	var with []result.Trial
	first := len(s.r.Trials)
	in := 0 // moves of the step in force
	defer func() {
		if err != nil {
			err = errors.Join(err, s.back(context.WithoutCancel(ctx), step, in))
		}
	}()
	for k := 0; k < s.Pairs || Promising(pairs, s.floor); k++ {
		var p Pair
		for _, side := range order(k) {
			if side == sideAfter && in == 0 {
				if in, err = s.turn(ctx, step); err != nil {
					break
				}
			} else if side == sideBefore && in > 0 {
				left := in
				in = 0
				if err := s.back(ctx, step, left); err != nil {
					return err
				}
			}
			t, err := s.measure(ctx, n, name, side, k+1)
			if err != nil {
				return err
			}
			if side == sideAfter {
				p.B, with = FiguresOf(t), append(with, t)
			} else {
				p.A = FiguresOf(t)
			}
		}
		if err != nil {
			left := in
			in = 0
			return s.refuse(ctx, n, first, step, left, err)
		}
		if pairs = append(pairs, p); Settled(pairs, s.floor) {
			break // more pairs would not change the verdict
		}
	}
	d := Decide(pairs, s.floor)
	switch {
	case d.Keep && in == 0: // the last pair ended without it
		if in, err = s.turn(ctx, step); err != nil {
			left := in
			in = 0
			return s.refuse(ctx, n, first, step, left, err)
		}
	case !d.Keep && in > 0:
		left := in
		in = 0
		if err := s.back(ctx, step, left); err != nil {
			return err
		}
	}
	s.note(first, step, d)
	if d.Keep {
		s.now = with
	}
	s.tell(Event{Step: n, Name: name, Decision: &d})
	return nil
}

// order is ABBA: which side of pair k comes first alternates, so that a drift
// of the link falls on both alike.
func order(k int) [2]string {
	if k%2 == 0 {
		return [2]string{sideBefore, sideAfter}
	}
	return [2]string{sideAfter, sideBefore}
}

func (s *session) tell(e Event) {
	if s.Watch != nil {
		s.Watch(e)
	}
}
