package search

import (
	"testing"
	"time"
)

// The example of the MLRsearch document. Where its table and its code
// disagree (goal D, last two rows), the code counts.
func TestClassifyExample(t *testing.T) {
	goals := []Goal{
		{Final: 60 * time.Second, Sum: 60 * time.Second},
		{Final: 60 * time.Second, Sum: 120 * time.Second, ExceedRatio: 0.5},
		{Final: time.Second, Sum: 120 * time.Second, LossRatio: 0.005, ExceedRatio: 0.5},
		{Final: 60 * time.Second, Sum: 60 * time.Second, LossRatio: 0.005, ExceedRatio: 0.2},
	}
	const load = 1_000_000
	var trials []Trial
	add := func(n int, d time.Duration, loss float64) {
		for range n {
			trials = append(trials, Trial{TrialInput{d, load}, TrialOutput{LossRatio: loss, EffectiveDuration: d}})
		}
	}
	for _, row := range []struct {
		n    int
		d    time.Duration
		loss float64
		want [4]Class
	}{
		{59, time.Second, 0, [4]Class{}},
		{1, time.Second, 0.01, [4]Class{0: UpperBound}},
		{59, time.Second, 0.01, [4]Class{0: UpperBound, 3: UpperBound}},
		{1, time.Second, 0, [4]Class{UpperBound, Undecided, LowerBound, UpperBound}},
		{1, 60 * time.Second, 0.001, [4]Class{UpperBound, Undecided, LowerBound, UpperBound}},
		{1, 60 * time.Second, 0, [4]Class{UpperBound, LowerBound, LowerBound, UpperBound}},
	} {
		add(row.n, row.d, row.loss)
		for i, g := range goals {
			if got := g.Classify(trials); got != row.want[i] {
				t.Errorf("after %d trials goal %c: %v, want %v", len(trials), 'A'+i, got, row.want[i])
			}
		}
	}
	for i, want := range map[int]FramesPerSecond{1: 1_000_000, 2: 1_000_000, 3: 999_000} {
		if got := goals[i].ConditionalThroughput(load, trials); got != want {
			t.Errorf("conditional throughput of %c: %v, want %v", 'A'+i, got, want)
		}
	}
}

func TestMLRFindsBothRates(t *testing.T) {
	for _, c := range []FramesPerSecond{50_000, 400_000, 1_100_000} {
		d := newDUT(c)
		rs, trials, err := MLR{Goals: NDRPDR(), Max: lineRate}.Search(t.Context(), d)
		if err != nil || len(rs) != 2 || len(trials) != d.trials {
			t.Fatal(rs, err)
		}
		pdr := c / 0.995 // loses 0.5 % there
		for i, truth := range []FramesPerSecond{c, pdr} {
			r := rs[i]
			if !r.Regular || r.Lower > truth+1 || r.Upper < truth-1 || !r.Goal.near(r.Lower, r.Upper) {
				t.Errorf("device of %v, %s: %v to %v, regular %v (%s)", c, r.Goal.Name, r.Lower, r.Upper, r.Regular, r.Why)
			}
		}
	}
}

// The reason to have it: the same answer in fewer trial-seconds than bisection
// at full effort.
func TestMLRIsFasterThanBisection(t *testing.T) {
	for _, c := range []FramesPerSecond{50_000, 400_000, 730_000, 1_100_000} {
		g := Goal{Final: 30 * time.Second, Sum: 30 * time.Second, Width: 0.005, InitialTrial: time.Second}
		mlr, bin := newDUT(c), newDUT(c)
		rs, _, err := MLR{Goals: []Goal{g}, Max: lineRate}.Search(t.Context(), mlr)
		if err != nil || !rs[0].Regular {
			t.Fatal(rs, err)
		}
		s := Throughput{Max: lineRate, Resolution: 0.005 * float64(c) / lineRate, Duration: 30 * time.Second}
		if _, err := s.Search(t.Context(), bin); err != nil {
			t.Fatal(err)
		}
		t.Logf("device of %v frame/s: MLRsearch %v in %d trials, bisection %v in %d", c, mlr.spent.Round(time.Second), mlr.trials, bin.spent, bin.trials)
		if mlr.spent >= bin.spent {
			t.Errorf("device of %v: MLRsearch took %v of trials, bisection %v", c, mlr.spent, bin.spent)
		}
	}
}

func TestMLRNoisyDevice(t *testing.T) {
	d := newDUT(600_000)
	d.noise = 0.2 // NDR with exceed ratio 0.5 still counts the load as good
	rs, _, err := MLR{Goals: NDRPDR()[:1], Max: lineRate}.Search(t.Context(), d)
	if err != nil || rs[0].Lower < 590_000 || rs[0].Lower > 600_000 {
		t.Errorf("%+v, %v", rs, err)
	}
}

func TestMLRNonMonotonicDevice(t *testing.T) {
	d := newDUT(1_000_000)
	d.drop = func(load FramesPerSecond) float64 { // a hole below the cap
		if load > 300_000 && load < 400_000 {
			return 0.01
		}
		return 0
	}
	rs, _, err := MLR{Goals: NDRPDR()[:1], Max: lineRate}.Search(t.Context(), d)
	if err != nil || !rs[0].Regular || rs[0].Lower > rs[0].Upper {
		t.Errorf("%+v, %v", rs, err)
	}
}

func TestMLRIrregular(t *testing.T) {
	rs, _, err := MLR{Goals: NDRPDR(), Max: lineRate}.Search(t.Context(), newDUT(2*lineRate))
	if err != nil || rs[0].Regular || rs[0].Lower != lineRate || rs[0].Why == "" {
		t.Errorf("no upper bound: %+v, %v", rs, err)
	}
	rs, _, err = MLR{Goals: NDRPDR(), Max: lineRate}.Search(t.Context(), newDUT(0))
	if err != nil || rs[0].Regular || rs[0].Lower != 0 {
		t.Errorf("dead device: %+v, %v", rs, err)
	}
	rs, _, err = MLR{Goals: NDRPDR(), Max: lineRate, Budget: 5 * time.Second}.Search(t.Context(), newDUT(400_000))
	if err != nil || rs[0].Regular {
		t.Errorf("out of time: %+v, %v", rs, err)
	}
}
