package run

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/linerate/linerate/result"
)

type load struct {
	err error
	d   time.Duration
	n   float64
}

func (*load) Name() string          { return "load" }
func (*load) Spec() result.Workload { return result.Workload{Kind: "test"} }
func (l *load) Read(context.Context) ([]result.Value, error) {
	l.n++
	return []result.Value{result.Bytes.Of(l.n)}, nil
}

func (l *load) Run(ctx context.Context) error {
	select {
	case <-time.After(l.d):
		return l.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

type broken struct{}

func (broken) Name() string { return "broken" }
func (broken) Read(context.Context) ([]result.Value, error) {
	return nil, errors.New("no such counter")
}

func TestRecordCompletes(t *testing.T) {
	r, err := Record(context.Background(), &load{d: 35 * time.Millisecond}, Options{Every: 10 * time.Millisecond, Meters: []Meter{broken{}}})
	if err != nil || r.Ending != result.Completed {
		t.Fatalf("ending %q, %v", r.Ending, err)
	}
	if len(r.Readings) < 3 {
		t.Errorf("%d readings, want the first, the last and some between", len(r.Readings))
	}
	if len(r.Gaps) != 1 || r.Gaps[0].Source != "broken" {
		t.Errorf("gaps %+v", r.Gaps)
	}
	last := r.Readings[len(r.Readings)-1].Values
	if _, ok := result.Get(last, result.MeterCost, "meter", "load"); !ok {
		t.Error("the meter's own cost is missing")
	}
}

func TestRecordKeepsWhatAFailureLeft(t *testing.T) {
	gone := errors.New("peer reset the connection")
	r, err := Record(context.Background(), &load{err: gone}, Options{})
	if !errors.Is(err, gone) || r == nil || r.Ending != result.Failed || r.Error != gone.Error() {
		t.Fatalf("result %+v, %v", r, err)
	}
	if len(r.Readings) != 2 {
		t.Errorf("%d readings, want 2", len(r.Readings))
	}
}

func TestRecordInterrupted(t *testing.T) {
	ctx, stop := context.WithCancelCause(context.Background())
	time.AfterFunc(20*time.Millisecond, func() { stop(errors.New("interrupt")) })
	r, err := Record(ctx, &load{d: time.Minute}, Options{})
	if err != nil || r.Ending != result.Interrupted || r.Error != "interrupt" {
		t.Fatalf("ending %q %q, %v", r.Ending, r.Error, err)
	}
}

// farMeter counts at the other end until that is lost.
type farMeter struct{ reads int }

func (*farMeter) Name() string { return "board" }
func (*farMeter) End() string  { return "dut" }
func (m *farMeter) Read(context.Context) ([]result.Value, error) {
	if m.reads++; m.reads > 2 {
		return nil, errors.New("connection lost")
	}
	return []result.Value{result.Bytes.Of(float64(m.reads))}, nil
}

func TestRecordFarEnd(t *testing.T) {
	r, err := Record(context.Background(), &load{d: 55 * time.Millisecond}, Options{Every: 10 * time.Millisecond, Meters: []Meter{&farMeter{}}})
	if err != nil || r.Ending != result.Completed {
		t.Fatalf("ending %q, %v", r.Ending, err)
	}
	near, far := r.ReadingsAt(""), r.ReadingsAt("dut")
	if len(near) < 3 || len(far) != 2 {
		t.Fatalf("%d readings here and %d there, want more than 3 and 2", len(near), len(far))
	}
	if v, _ := result.Get(far[1].Values, result.Bytes); v != 2 {
		t.Errorf("the far end counted %v, want 2", v)
	}
	if len(r.Gaps) != 1 || r.Gaps[0].Source != "board" {
		t.Errorf("gaps %+v", r.Gaps)
	}
}
