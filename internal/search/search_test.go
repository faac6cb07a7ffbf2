package search

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"
)

func throughput() Throughput {
	return Throughput{Max: lineRate, Min: 100, Resolution: 0.001, Duration: 60 * time.Second, Short: time.Second}
}

func TestThroughputFindsTheCap(t *testing.T) {
	for _, c := range []FramesPerSecond{100_000, 700_000, 1_000_000, lineRate} {
		out, err := throughput().Search(t.Context(), newDUT(c))
		if err != nil || out.Load > c || c-out.Load > 0.002*lineRate {
			t.Errorf("device of %v: found %v, %v", c, out.Load, err)
		}
		if out.Passed.Duration != 60*time.Second || out.Passed.LossRatio != 0 || out.Passed.Load != out.Load {
			t.Errorf("device of %v: the result did not pass a full trial: %+v", c, out.Passed)
		}
	}
}

// A buffer lets a short trial pass what a long one does not: the failed load
// must not be reported.
func TestThroughputConfirmsAtFullLength(t *testing.T) {
	d := newDUT(800_000)
	d.buffer = 100_000
	out, err := throughput().Search(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	truth := FramesPerSecond(800_000 + 100_000.0/60)
	if out.Load > truth || truth-out.Load > 0.002*lineRate {
		t.Errorf("found %v, want just below %v", out.Load, truth)
	}
}

func TestThroughputOfADeadDevice(t *testing.T) {
	out, err := throughput().Search(t.Context(), newDUT(0))
	if err != nil || out.Load != 0 || out.Upper != 100 {
		t.Errorf("outcome %+v, %v", out, err)
	}
}

// TST 009: with verification a device that loses now and then is measured at
// its true rate; without, far below.
func TestLossVerification(t *testing.T) {
	noisy := func() *dut { d := newDUT(900_000); d.noise = 0.3; return d }
	s := throughput()
	s.Short = 0
	plain, err1 := s.Search(t.Context(), noisy())
	s.Repeats, s.RepeatLoss = 4, 1e-4
	verified, err2 := s.Search(t.Context(), noisy())
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if verified.Load < 890_000 || verified.Load > 900_000 {
		t.Errorf("with verification %v, want about 900000", verified.Load)
	}
	if plain.Load > verified.Load {
		t.Errorf("without verification %v, above %v", plain.Load, verified.Load)
	}
}

// flaky spoils every other trial as a tester that sends late does.
type flaky struct {
	*dut
	n int
}

func (f *flaky) Measure(ctx context.Context, in TrialInput) (TrialOutput, error) {
	if f.n++; f.n%2 == 1 {
		return TrialOutput{}, ErrInvalid
	}
	return f.dut.Measure(ctx, in)
}

type spoilt struct{}

func (spoilt) Measure(context.Context, TrialInput) (TrialOutput, error) {
	return Counts{Sent: 10, Unique: 9, Received: 12, Duplicate: 1}.Output(TrialInput{}), nil
}

func TestInvalidTrials(t *testing.T) {
	out, err := throughput().Search(t.Context(), &flaky{dut: newDUT(500_000)})
	if err != nil || math.Abs(float64(out.Load-500_000)) > 2000 {
		t.Errorf("repeated trials: %v, %v", out.Load, err)
	}
	if _, err := throughput().Search(t.Context(), spoilt{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("counts that do not add up: %v, want ErrInvalid", err)
	}
}

func TestFrameLossRate(t *testing.T) {
	trials, err := FrameLossRate(t.Context(), newDUT(0.75*lineRate), lineRate, 0.1, time.Second, nil)
	if err != nil || len(trials) != 5 { // 100, 90, 80 %, then 70 and 60 % clean
		t.Fatalf("%d trials, %v", len(trials), err)
	}
	if l := trials[0].LossRatio; math.Abs(l-0.25) > 1e-4 {
		t.Errorf("loss at line rate %v, want 0.25", l)
	}
}

// The example of RFC 9004: 26000 frames at 1488095 frame/s, throughput 1000000.
func TestBufferTime(t *testing.T) {
	implied, corrected := BufferTime(26000, lineRate, 1e6)
	if implied.Round(time.Microsecond) != 17472*time.Microsecond || corrected.Round(time.Microsecond) != 5731*time.Microsecond {
		t.Errorf("implied %v, corrected %v", implied, corrected)
	}
}

func TestBackToBackFindsTheBuffer(t *testing.T) {
	d := newDUT(1_000_000)
	d.buffer = 8192
	s := BackToBack{Rate: lineRate, Throughput: d.cap, Limit: 2 * time.Second, Tests: 5}
	b, err := s.Search(t.Context(), d)
	if err != nil || b.Dev != 0 || len(b.Frames) != 5 {
		t.Fatalf("%+v, %v", b, err)
	}
	// Corrected buffer time times the line rate is the buffer.
	if got := b.Corrected.Seconds() * lineRate; math.Abs(got-8192) > 2 {
		t.Errorf("buffer of %v frames, want 8192", got)
	}
	s.Limit = 10 * time.Millisecond
	if _, err := s.Search(t.Context(), d); !errors.Is(err, ErrBurstLimit) {
		t.Errorf("short limit: %v, want ErrBurstLimit", err)
	}
	s.Throughput = lineRate
	if _, err := s.Search(t.Context(), d); !errors.Is(err, ErrNotApplicable) {
		t.Errorf("at line rate: %v, want ErrNotApplicable", err)
	}
}
