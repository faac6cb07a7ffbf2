package model

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// What the field reports measured, against the profiles, within the error each
// profile states.
func TestBoardsReproduceTheirAnchors(t *testing.T) {
	for _, name := range Boards() {
		b, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		errOf := map[string]float64{}
		for _, p := range b.Paths {
			errOf[p.Name] = p.Error
		}
		for _, r := range Check(b) {
			switch {
			case r.Err != nil && !errors.Is(r.Err, ErrNotExplained):
				t.Errorf("%s %s %s: %v", name, r.Path, r.What, r.Err)
			case r.Err == nil && math.Abs(r.Share) > max(errOf[r.Path], 0.01):
				t.Errorf("%s %s %s: predicted %.4g, measured %.4g: %+.1f %%", name, r.Path, r.What, r.Predicted, r.Measured, 100*r.Share)
			}
		}
	}
}

func TestK2HWithinFourPercent(t *testing.T) {
	b, err := Load("k2h")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range Check(b) {
		n++
		if r.Err != nil || math.Abs(r.Share) > 0.04 {
			t.Errorf("%s %s: %+.1f %%, %v", r.Path, r.What, 100*r.Share, r.Err)
		}
	}
	if n != 7 {
		t.Errorf("%d points, want the report's seven", n)
	}
}

// What is at line rate is named so; what the fit does not explain is refused.
func TestLineRateAndRefusal(t *testing.T) {
	for board, path := range map[string]string{"p1020": "forward", "zynq": "rx full"} {
		b, err := Load(board)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range b.Paths {
			if p.Name != path {
				continue
			}
			pr, err := Predict(b, p, nil)
			if err != nil || pr.Bound != "line rate" {
				t.Errorf("%s: %+v, %v", board, pr, err)
			}
			if _, err := Predict(b, p, map[string]float64{"message": 256}); !errors.Is(err, ErrNotExplained) {
				t.Errorf("%s: extrapolated: %v", board, err)
			}
		}
	}
	b, _ := Load("zynq")
	if _, err := Predict(b, b.Paths[0], map[string]float64{"message": 1500}); !errors.Is(err, ErrNotExplained) {
		t.Errorf("beyond the fit: %v", err)
	}
}

func TestPredictNamesTheNextBound(t *testing.T) {
	b, err := Load("k2h")
	if err != nil {
		t.Fatal(err)
	}
	pr, err := Predict(b, b.Paths[0], map[string]float64{"window": 8192})
	if err != nil || pr.Bound != "window over round trip" || !strings.Contains(pr.Next, "serial") {
		t.Errorf("%+v, %v", pr, err)
	}
	for _, bad := range []map[string]float64{{"window": -1}, {"nonsense": 1}, {"mtu": 20}, {"message": math.NaN()}} {
		if _, err := Predict(b, b.Paths[0], bad); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

// A network of one station is a queue that never idles; with a delay alone it
// is a window over a round trip.
func TestMVALimits(t *testing.T) {
	if got := (Network{Stations: []Station{{"s", 0.001}}}).Solve(7).Rate; math.Abs(got-1000) > 1e-6 {
		t.Errorf("one station: %v packets/s, want 1000", got)
	}
	if got := (Network{Delay: 0.010}).Solve(5.5).Rate; math.Abs(got-550) > 1e-6 {
		t.Errorf("delay only: %v packets/s, want 550", got)
	}
}

// The closed forms against a simulated stream.
func TestPacingAgainstSimulation(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		mode                   Pacing
		rate, timer, threshold float64
	}{
		{SinceInterrupt, 25e3, 50e-6, 1e9}, {SinceFirstFrame, 25e3, 50e-6, 1e9}, {SinceLastFrame, 25e3, 50e-6, 1e9},
		{SinceFirstFrame, 45.9e3, 50e-6, 1e9}, {SinceLastFrame, 45.9e3, 50e-6, 12}, {Threshold, 1e5, 0, 16},
	} {
		p, err := Pace(c.mode, c.rate, c.timer, c.threshold)
		if err != nil {
			t.Fatal(err)
		}
		if got := simulate(r, c.mode, c.rate, c.timer, c.threshold); math.Abs(got/p.Batch-1) > 0.03 {
			t.Errorf("mode %d at %v: simulated batch %.3f, closed form %.3f", c.mode, c.rate, got, p.Batch)
		}
	}
	for _, bad := range [][4]float64{{9, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, -1, 1}, {1, 1, 1, 0}} {
		if _, err := Pace(Pacing(bad[0]), bad[1], bad[2], bad[3]); err == nil {
			t.Errorf("Pace(%v) was accepted", bad)
		}
	}
}

// simulate returns the mean batch of a Poisson stream.
func simulate(r *rand.Rand, mode Pacing, rate, timer, threshold float64) float64 {
	const frames = 300_000
	var now, last, due float64
	waiting, interrupts := 0.0, 0.0
	due = math.Inf(1)
	last = math.Inf(-1)
	fire := func(at float64) { interrupts, waiting, last, due = interrupts+1, 0, at, math.Inf(1) }
	for range frames {
		next := now + r.ExpFloat64()/rate
		if due <= next {
			fire(due)
		}
		now = next
		waiting++
		switch {
		case waiting >= threshold:
			fire(now)
		case mode == SinceInterrupt && now-last >= timer:
			fire(now)
		case mode == SinceInterrupt:
			due = last + timer
		case mode == SinceFirstFrame && waiting == 1, mode == SinceLastFrame:
			due = now + timer
		}
	}
	return frames / interrupts
}

func FuzzDecode(f *testing.F) {
	for _, n := range Boards() {
		b, _ := boards.ReadFile("boards/" + n + ".yaml")
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, s string) {
		if b, err := Decode(strings.NewReader(s)); err == nil {
			Check(b)
		}
	})
}
