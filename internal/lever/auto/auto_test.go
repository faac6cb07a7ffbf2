package auto

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/lever"
	"github.com/linerate/linerate/result"
)

// link is a link of settings that each multiply its goodput or its cost, with
// noise.
type link struct {
	settings map[string]string
	effect   map[string]float64 // "id=value": on goodput; "cost id=value": on time per packet
	noise    float64
	refuse   string // a setting that cannot be made
	ignore   string // one that is accepted and has no effect
	rng      *rand.Rand
	undo     []func()
	applied  int
}

func newLink(effects ...any) *link {
	l := &link{settings: map[string]string{}, effect: map[string]float64{}, noise: 0.02, rng: rand.New(rand.NewPCG(1, 2))}
	for e := range slices.Chunk(effects, 2) {
		l.effect[e[0].(string)] = e[1].(float64)
	}
	return l
}

func (l *link) jitter() float64 { return math.Exp(l.noise * l.rng.NormFloat64()) }

func (l *link) Measure(context.Context) (*result.Result, error) {
	goodput, cost := 100e6*l.jitter(), 2e-6*l.jitter()
	for id, v := range l.settings {
		if x, ok := l.effect[id+"="+v]; ok {
			goodput *= x
		}
		if x, ok := l.effect["cost "+id+"="+v]; ok {
			cost *= x
		}
	}
	const packets = 10000
	return &result.Result{Duration: time.Second, Workload: result.Workload{Kind: "test"}, Totals: []result.Value{
		result.Goodput.Of(goodput, "direction", "tx"), result.LossRatio.Of(0, "direction", "tx"),
		result.DatagramsReceived.Of(packets, "direction", "tx"), result.SoftirqSeconds.Of(cost * packets),
	}}, nil
}

func (l *link) Role() string { return "receiver" }

func (l *link) Find(_ context.Context, a result.Advice) ([]Move, error) {
	now, ok := l.settings[a.Lever]
	switch {
	case !ok && !strings.HasPrefix(a.Lever, "s."):
		return nil, lever.ErrNoLever
	case now == a.Value:
		return nil, ErrInForce
	}
	return []Move{{a.Lever, now, a.Value}}, nil
}

func (l *link) Apply(_ context.Context, m Move, _ string) (result.Change, error) {
	c := result.Change{Lever: m.ID, Before: l.settings[m.ID], After: m.Value}
	if m.ID == l.refuse {
		return result.Change{Lever: m.ID}, errors.New("not permitted")
	}
	before := c.Before
	l.undo = append(l.undo, func() { l.settings[m.ID] = before })
	l.applied++
	if m.ID == l.ignore {
		return c, fmt.Errorf("set, still as before: %w", lever.ErrUnchanged)
	}
	l.settings[m.ID] = m.Value
	return c, nil
}

func (l *link) Back(context.Context) error {
	n := len(l.undo)
	if n == 0 {
		return errors.New("nothing to put back")
	}
	l.undo[n-1]()
	l.undo = l.undo[:n-1]
	return nil
}

// asks explains every link by a list of levers.
func asks(levers ...string) func(*result.Result) []result.Finding {
	return func(*result.Result) []result.Finding {
		var fs []result.Finding
		for _, l := range levers {
			fs = append(fs, result.Finding{Rule: "rule." + l, Verdict: result.Limits, Levers: []result.Advice{{Lever: l, Value: "on"}}})
		}
		return fs
	}
}

func run(t *testing.T, l *link, explain func(*result.Result) []result.Finding) *result.Result {
	t.Helper()
	r, err := (&Loop{Bench: l, Boxes: []Box{l}, Explain: explain}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func kept(r *result.Result) []string {
	var ids []string
	for _, c := range r.Changes {
		ids = append(ids, c.Lever)
	}
	return ids
}

// Only what beats the noise stays; the rest stands as it was found.
func TestKeepsWhatHelps(t *testing.T) {
	l := newLink("s.good=on", 1.5, "s.bad=on", 0.5, "cost s.cheap=on", 0.5, "cost s.dear=on", 3.0)
	r := run(t, l, asks("s.none", "s.bad", "s.good", "s.cheap", "s.dear", "windows.TcpAckFrequency"))
	if got := kept(r); !slices.Equal(got, []string{"s.good", "s.cheap"}) {
		t.Errorf("kept %v", got)
	}
	for id, want := range map[string]string{"s.good": "on", "s.cheap": "on", "s.bad": "", "s.none": "", "s.dear": ""} {
		if l.settings[id] != want {
			t.Errorf("%s stands at %q, want %q", id, l.settings[id], want)
		}
	}
	// Six trials of the state found, ten of a step that changes nothing and six
	// of those that three pairs settle, in the order ABBA.
	if want := 6 + 10 + 4*6; len(r.Trials) != want {
		t.Errorf("%d trials, want %d", len(r.Trials), want)
	}
	var sides []string
	for _, x := range r.Trials[6:16] {
		sides = append(sides, x.Params[settingParam])
	}
	if got := strings.Join(sides, " "); got != "before after after before before after after before before after" {
		t.Errorf("order %s", got)
	}
	if g, _ := result.Get(r.Totals, result.Goodput); g < 140e6 || g > 160e6 {
		t.Errorf("total of %v, want that of what was kept", g)
	}
}

// On a link without any effect chance must rarely look like a gain.
func TestNoiseIsNoGain(t *testing.T) {
	const sessions = 60
	wrong := 0
	for seed := range uint64(sessions) {
		l := newLink()
		l.noise, l.rng = 0.1, rand.New(rand.NewPCG(seed, 7))
		wrong += len(run(t, l, asks("s.a", "s.b", "s.c")).Changes)
	}
	if most := sessions * 3 / 20; wrong > most {
		t.Errorf("%d of %d changes without effect were kept, want at most %d", wrong, sessions*3, most)
	}
}

func TestStopsAtLineRate(t *testing.T) {
	l := newLink("s.good=on", 2.0)
	r := run(t, l, func(*result.Result) []result.Finding {
		return []result.Finding{{Rule: "line.at-rate", Verdict: result.Limits, Levers: []result.Advice{{Lever: "s.good", Value: "on"}}}}
	})
	if l.applied != 0 || !strings.HasPrefix(r.Workload.Params["ended"], "at line rate") {
		t.Errorf("%d changes, ended %q", l.applied, r.Workload.Params["ended"])
	}
}

// A setting that cannot be made, or has no effect though accepted, is told, and
// the next one is tried.
func TestGoesOnPastARefusal(t *testing.T) {
	l := newLink("s.good=on", 2.0)
	l.refuse, l.ignore = "s.a", "s.b"
	r := run(t, l, asks("s.a", "s.b", "s.good"))
	if got := kept(r); !slices.Equal(got, []string{"s.good"}) {
		t.Errorf("kept %v", got)
	}
	if len(r.Gaps) != 2 || !strings.Contains(r.Gaps[1].Reason, "accepted, but not in force") {
		t.Errorf("gaps %+v", r.Gaps)
	}
	if len(l.undo) != 1 {
		t.Errorf("%d changes in force, want the one kept", len(l.undo))
	}
}

// A session that is stopped leaves no step half way.
func TestInterruptedPutsTheStepBack(t *testing.T) {
	l := newLink("s.good=on", 2.0)
	ctx, stop := context.WithCancelCause(t.Context())
	n := 0
	loop := Loop{Bench: l, Boxes: []Box{l}, Explain: asks("s.good"), Watch: func(e Event) {
		if n++; n == 9 { // in the second pair of the step
			stop(errors.New("enough"))
		}
	}}
	r, err := loop.Run(ctx)
	if err == nil || r.Ending != result.Interrupted || r.Error != "enough" {
		t.Errorf("%v: %s %s", err, r.Ending, r.Error)
	}
	if l.settings["s.good"] != "" || len(l.undo) != 0 {
		t.Errorf("left at %q with %d changes in force", l.settings["s.good"], len(l.undo))
	}
}

func TestDecide(t *testing.T) {
	a := Figures{Cost: 4e-6, Goodput: 100e6}
	five := func(b Figures) []Pair { return slices.Repeat([]Pair{{a, b}}, 5) }
	for _, c := range []struct {
		name string
		b    Figures
		keep bool
	}{
		{"the same", a, false},
		{"cheaper at the same rate", Figures{Cost: 2e-6, Goodput: 100e6}, true},
		{"cheaper and slower", Figures{Cost: 2e-6, Goodput: 90e6}, false},
		{"faster at the same cost", Figures{Cost: 4e-6, Goodput: 150e6}, true},
		{"faster, paid for", Figures{Cost: 7e-6, Goodput: 150e6}, false},
		{"lossy", Figures{Cost: 2e-6, Goodput: 120e6, Loss: 0.05}, false},
		{"faster, cost unknown", Figures{Cost: math.NaN(), Goodput: 150e6}, true},
		{"dead", Figures{Cost: math.NaN()}, false},
	} {
		if d := Decide(five(c.b), least()); d.Keep != c.keep {
			t.Errorf("%s: keep %v: %s", c.name, d.Keep, d.Why)
		}
	}
	revived := []Pair{{Figures{Cost: math.NaN()}, a}, {Figures{Cost: math.NaN()}, a}, {Figures{Cost: math.NaN()}, a}}
	if d := Decide(revived, least()); !d.Keep {
		t.Errorf("a link that came alive: %s", d.Why)
	}
}
