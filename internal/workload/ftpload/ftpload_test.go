package ftpload

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/run"
	"github.com/linerate/linerate/result"
)

// server pretends: transfers take a time and move a number of bytes.
type server struct {
	takes    time.Duration
	bytes    int64
	getFails error
	dials    atomic.Int32
	open     atomic.Int32
	names    chan string
}

func (s *server) dial(context.Context) (Session, error) {
	s.dials.Add(1)
	s.open.Add(1)
	return &session{s}, nil
}

type session struct{ s *server }

func (x *session) Get(ctx context.Context, _ string, moved *atomic.Int64) error {
	if x.s.getFails != nil {
		return x.s.getFails
	}
	return x.move(ctx, x.s.bytes, moved)
}

func (x *session) Put(ctx context.Context, name string, size int64, moved *atomic.Int64) error {
	if x.s.names != nil {
		x.s.names <- name
	}
	return x.move(ctx, size, moved)
}

func (x *session) move(ctx context.Context, n int64, moved *atomic.Int64) error {
	select {
	case <-time.After(x.s.takes):
		moved.Add(n)
		return nil
	case <-ctx.Done():
		moved.Add(n / 2)
		return context.Cause(ctx)
	}
}

func (x *session) Close() error { x.s.open.Add(-1); return nil }

func TestTrials(t *testing.T) {
	s := &server{takes: 5 * time.Millisecond, bytes: 1000, names: make(chan string, 100)}
	read := 0
	l := &Load{
		Plan: Plan{Directions: []Direction{Put, Get}, GetName: "g", PutName: "p", Size: 500, Repeats: 3, Streams: 2},
		Dial: s.dial,
		Meters: func(context.Context) []result.Value {
			read++
			return []result.Value{
				result.CPUSeconds.Of(float64(100+read), "cpu", "0", "mode", "user"), result.ProcessCPU.Of(float64(read), "process", "x", "mode", "user"),
				result.TCPWindow.Of(1e4, "flow", "put", "window", "send"), result.TCPWindow.Of(2e4, "flow", "get", "window", "receive"),
				result.TCPBusy.Of(float64(read), "flow", "put"), result.TCPBusy.Of(float64(read), "flow", "get"),
			}
		},
	}
	r, err := run.Record(t.Context(), l, run.Options{Totals: func(*result.Result) []result.Value { return l.Totals() }})
	if err != nil || r.Ending != result.Completed {
		t.Fatalf("%s, %v", r.Ending, err)
	}
	trials := l.Trials()
	if len(trials) != 6 || s.dials.Load() != 12 || s.open.Load() != 0 {
		t.Fatalf("%d trials, %d logins, %d still open", len(trials), s.dials.Load(), s.open.Load())
	}
	for i, tr := range trials {
		d, n := "put", 1000.0
		if i%2 == 1 {
			d, n = "get", 2000
		}
		bytes, _ := result.Get(tr.Values, result.Bytes)
		goodput, _ := result.Get(tr.Values, result.Goodput)
		cpu, _ := result.Get(tr.Values, result.CPUSeconds)
		if tr.Params["direction"] != d || tr.Name != "2 streams" || bytes != n || !tr.Pass || cpu != 1 || goodput != 8*n/tr.Duration.Seconds() {
			t.Errorf("trial %d: %+v", i, tr)
		}
		if _, ok := result.Get(tr.Values, result.TCPBusy); ok != (d == "put") {
			t.Errorf("trial %d of %s: what only the sender knows is there: %v", i, d, ok)
		}
		if w, _ := result.Sum(tr.Values, result.TCPWindow); w != map[string]float64{"put": 2e4, "get": 4e4}[d] {
			t.Errorf("trial %d: windows of both streams %g", i, w)
		}
	}
	first, _ := result.Get(r.Totals, result.Goodput)
	put, _ := result.Get(r.Totals, result.Goodput, "direction", "put")
	get, _ := result.Get(r.Totals, result.Goodput, "direction", "get")
	if first != min(put, get) || put == 0 || get == 0 {
		t.Errorf("totals %+v: want the slower direction first", r.Totals)
	}
	if a, b := <-s.names, <-s.names; a == b {
		t.Errorf("two streams upload as %s", a)
	}
}

func TestTimedTrialRepeatsTransfers(t *testing.T) {
	s := &server{takes: 10 * time.Millisecond, bytes: 10}
	l := &Load{Plan: Plan{Directions: []Direction{Get}, Repeats: 1, Streams: 1, Time: 95 * time.Millisecond}, Dial: s.dial}
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	tr := l.Trials()[0]
	if n, _ := result.Get(tr.Values, result.Bytes); n < 20 || n > 100 || !tr.Pass {
		t.Errorf("%g bytes: %+v", n, tr)
	}
	if tr.Duration < l.Time {
		t.Errorf("took %v of %v", tr.Duration, l.Time)
	}
}

func TestOneDirectionFails(t *testing.T) {
	refused := errors.New("550 no such file")
	s := &server{bytes: 10, getFails: refused}
	l := &Load{Plan: Plan{Directions: []Direction{Get, Put}, Size: 1, Repeats: 3, Streams: 1}, Dial: s.dial}
	if err := l.Run(t.Context()); !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	var failed, passed int
	for _, tr := range l.Trials() {
		if tr.Pass {
			passed++
		} else if failed++; tr.Note == "" {
			t.Error("a failed trial without a reason")
		}
	}
	if failed != 1 || passed != 3 {
		t.Errorf("%d failed, %d passed; want 1 and 3", failed, passed)
	}
}

func TestInterrupt(t *testing.T) {
	s := &server{takes: time.Hour}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	l := &Load{Plan: Plan{Directions: []Direction{Put}, Size: 1, Repeats: 3, Streams: 4}, Dial: s.dial}
	if err := l.Run(ctx); !errors.Is(err, context.Canceled) || s.open.Load() != 0 {
		t.Errorf("%v, %d sessions open", err, s.open.Load())
	}
}
