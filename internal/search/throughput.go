package search

import (
	"context"
	"time"
)

// Throughput is the search of RFC 2544 section 26.1, and with LossRatio above
// zero the partial drop rate search, which is then named so.
type Throughput struct {
	Max        FramesPerSecond // theoretical rate, or the tester's own limit
	Min        FramesPerSecond // lowest load worth knowing; at least one frame a trial
	Resolution float64         // as a share of Max: the search ends within it
	Duration   time.Duration   // of a deciding trial: 60 s (section 24)
	Short      time.Duration   // of the trials before; 0: all at Duration
	LossRatio  float64         // tolerated; 0 for throughput
	Repeats    int             // TST 009 loss verification: repeat a lossy trial so often, a pass in any counts
	RepeatLoss float64         // and only where its loss ratio is at most this
	Seen       func(Trial)     // told of every trial; may be nil
}

// Outcome is what a search found.
type Outcome struct {
	Load   FramesPerSecond // greatest that passed a trial of full length; 0 where none did
	Passed Trial           // that trial
	Upper  FramesPerSecond // smallest load that failed; 0 where Max passed
	Trials []Trial
}

// Search bisects between Min and Max. The result passed a trial of full
// length: where a short trial passed and the confirmation fails, the search
// goes on below with trials of full length and never reports the failed load.
func (s Throughput) Search(ctx context.Context, m Measurer) (Outcome, error) {
	l := &log{m: m, seen: s.Seen}
	short := s.Short
	if short <= 0 || short > s.Duration {
		short = s.Duration
	}
	var out Outcome
	err := s.bisect(ctx, l, &out, s.Max, s.Max, short)
	if err == nil && short < s.Duration && out.Load > 0 {
		err = s.confirm(ctx, l, &out)
	}
	out.Trials = l.trials
	return out, err
}

// bisect narrows Min, which is not tried yet, and hi until they are within the
// resolution, beginning at first: at hi itself where that was not tried either,
// for a device at line rate needs no search.
func (s Throughput) bisect(ctx context.Context, l *log, out *Outcome, first, hi FramesPerSecond, d time.Duration) error {
	lo := s.Min
	width := FramesPerSecond(s.Resolution) * s.Max
	// Less than a frame a trial cannot be told apart.
	width = max(width, FramesPerSecond(1/d.Seconds()))
	for load := first; ; load = (lo + hi) / 2 {
		t, pass, err := s.try(ctx, l, load, d)
		if err != nil {
			return err
		}
		if pass {
			lo, out.Load, out.Passed = load, load, t
		} else {
			hi, out.Upper = load, load
		}
		if hi-lo <= width {
			return s.floor(ctx, l, out, lo, d)
		}
	}
}

// floor tries Min itself where nothing above it passed.
func (s Throughput) floor(ctx context.Context, l *log, out *Outcome, lo FramesPerSecond, d time.Duration) error {
	if out.Load > 0 || lo <= 0 {
		return nil
	}
	t, pass, err := s.try(ctx, l, lo, d)
	if err != nil {
		return err
	}
	if pass {
		out.Load, out.Passed = lo, t
	} else {
		out.Upper = lo
	}
	return nil
}

// confirm repeats the load found at full length, and searches on below where
// it does not hold.
func (s Throughput) confirm(ctx context.Context, l *log, out *Outcome) error {
	t, pass, err := s.try(ctx, l, out.Load, s.Duration)
	if err != nil {
		return err
	}
	if pass {
		out.Passed = t
		return nil
	}
	hi := out.Load
	*out = Outcome{Upper: hi}
	return s.bisect(ctx, l, out, (s.Min+hi)/2, hi, s.Duration)
}

// try decides one load, with TST 009's verification of a lossy trial.
func (s Throughput) try(ctx context.Context, l *log, load FramesPerSecond, d time.Duration) (Trial, bool, error) {
	for r := 0; ; r++ {
		t, err := l.measure(ctx, load, d)
		if err != nil {
			return t, false, err
		}
		if t.LossRatio <= s.LossRatio {
			return t, true, nil
		}
		if r >= s.Repeats || t.LossRatio > s.RepeatLoss {
			return t, false, nil
		}
	}
}
