package nic

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// simulation is a wire and a clock in virtual time: frames arrive as a Poisson
// process, work takes none, and a wait ends at the next arrival at the latest.
type simulation struct {
	now      time.Duration
	gap      func() time.Duration
	next     time.Duration // of arrival
	left     int
	arrived  []time.Duration // in the ring
	ring     int
	lost     uint64
	finished context.CancelFunc
}

func (s *simulation) advance(to time.Duration) {
	for s.left > 0 && s.next <= to {
		if len(s.arrived) < s.ring {
			s.arrived = append(s.arrived, s.next)
		} else {
			s.lost++
		}
		s.left--
		s.next += s.gap()
	}
	s.now = max(s.now, to)
}

func (s *simulation) Info() Info               { return Info{Name: "simulation", Ring: s.ring} }
func (s *simulation) Filled() (int, error)     { return len(s.arrived), nil }
func (s *simulation) Frame(int) Received       { return Received{Data: []byte{0}} }
func (s *simulation) Release(n int)            { s.arrived = s.arrived[n:] }
func (s *simulation) Lost() (uint64, error)    { return s.lost, nil }
func (s *simulation) Close() error             { return nil }
func (*simulation) Send([]Packet) (int, error) { return 0, nil }
func (s *simulation) Now() time.Duration       { return s.now }
func (s *simulation) Spin(d time.Duration)     { s.advance(s.now + d) }
func (*simulation) Lateness() Lateness         { return Lateness{} }

func (s *simulation) Wait(time.Duration) error {
	if s.left == 0 {
		s.finished()
		return nil
	}
	s.advance(s.next)
	return nil
}

func (s *simulation) Sleep(d time.Duration) {
	if s.left == 0 {
		s.now += d
		return
	}
	s.advance(min(s.now+d, s.next))
}

// frames is a driver that drops what it gets.
type frames struct{}

func (frames) Receive(_, _ []byte, _ bool) {}
func (frames) Flush()                      {}

// simulate lets a card receive n frames at rate per second.
func simulate(t *testing.T, p Pacing, rate float64, n, ring int) *NIC {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	random := rand.New(rand.NewPCG(1, 2))
	s := &simulation{ring: ring, left: n, finished: cancel, gap: func() time.Duration {
		return time.Duration(random.ExpFloat64() / rate * 1e9)
	}}
	s.next = s.gap()
	card, err := New(s, Config{Pacing: p, Timer: s})
	if err != nil {
		t.Fatal(err)
	}
	if err := card.Run(ctx, frames{}); err != nil {
		t.Fatal(err)
	}
	return card
}

// TestPacingMatchesTheClosedForms compares the four modes on Poisson arrivals
// with the forms of the board model: interrupts are frames over the batch.
func TestPacingMatchesTheClosedForms(t *testing.T) {
	const n = 200_000
	for _, c := range []struct {
		rate      float64
		timer     time.Duration
		threshold int
	}{
		{25_000, 50 * time.Microsecond, 32}, {45_900, 50 * time.Microsecond, 32}, {45_900, 100 * time.Microsecond, 64},
		{81_274, 25 * time.Microsecond, 32}, {10_000, 200 * time.Microsecond, 64},
	} {
		held := c.rate * c.timer.Seconds()
		fires := math.Exp(-held)
		for mode, batch := range map[Mode]float64{
			Threshold:      float64(c.threshold),
			SinceInterrupt: held + math.Exp(-held),
			SinceFirst:     1 + held,
			SinceLast:      (1 - math.Pow(1-fires, float64(c.threshold))) / fires,
		} {
			p := Pacing{Mode: mode, Timer: c.timer, Threshold: c.threshold}
			if mode == Threshold {
				p.Watchdog = time.Hour
			}
			card := simulate(t, p, c.rate, n, 256)
			got := float64(card.count.frames.Load()) / float64(card.count.interrupts.Load())
			if math.Abs(got-batch) > 0.05*batch {
				t.Errorf("mode %s at %.0f frames/s, %s: %.3f frames per interrupt, want %.3f within 5 %%", mode, c.rate, c.timer, got, batch)
			}
			if worst := time.Duration(card.count.worst.Load()); mode == SinceInterrupt || mode == SinceFirst {
				if worst > c.timer {
					t.Errorf("mode %s held a frame for %s, want at most %s", mode, worst, c.timer)
				}
			}
		}
	}
}

// TestThresholdAloneStarves is the fault of mode 0: when traffic pauses, the
// last frames stay in the ring until a watchdog, if there is one, frees them.
func TestThresholdAloneStarves(t *testing.T) {
	_, err := New(&simulation{ring: 64}, Config{Pacing: Pacing{Mode: Threshold, Threshold: 32}})
	if !errors.Is(err, errStarves) {
		t.Errorf("threshold-only pacing: %v, want %v", err, errStarves)
	}
	card := simulate(t, Pacing{Mode: Threshold, Threshold: 32, Watchdog: time.Second}, 10_000, 40, 64)
	if got := card.count.frames.Load(); got != 40 {
		t.Errorf("%d frames were served, want all 40", got)
	}
	if held := time.Duration(card.count.worst.Load()); held < time.Second-5*time.Millisecond {
		t.Errorf("the last 8 frames were held for %s, want the watchdog's second", held)
	}
}

// TestRingLosesWhatItHasNoRoomFor counts frames that come faster than a long
// timer lets them be served.
func TestRingLosesWhatItHasNoRoomFor(t *testing.T) {
	card := simulate(t, Pacing{Mode: SinceFirst, Timer: 10 * time.Millisecond, Threshold: 32}, 100_000, 5_000, 32)
	if lost, _ := card.wire.Lost(); lost != 0 {
		t.Errorf("a threshold of the whole ring lost %d frames, want none: it interrupts first", lost)
	}
	p := Pacing{Mode: SinceInterrupt, Timer: 10 * time.Millisecond}
	s := &simulation{ring: 32}
	if q, err := p.check(s.ring); err != nil || q.Threshold != 32 {
		t.Errorf("check: threshold %d, %v; want the ring's 32", q.Threshold, err)
	}
}
