//go:build linux

package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/search"
	"github.com/linerate/linerate/internal/serve/reflect"
	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/internal/workload/generator"
	"github.com/linerate/linerate/result"
)

// during runs a command line inside a namespace, with its result as JSON, and
// has something happen once the first progress shows.
func during(t *testing.T, n *testnet.Namespace, sign string, happen func(cancel context.CancelFunc), args ...string) (r *result.Result, code int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	log := &awaited{sign: sign, seen: make(chan struct{})}
	go func() {
		<-log.seen
		happen(cancel)
	}()
	err := n.Do(func() error {
		code = run(ctx, cli{strings.NewReader(""), &out, log}, append(args, "--json"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err = result.Decode(&out)
	if err != nil {
		t.Fatalf("%v: exit status %d, no result: %v\n%s", args, code, err, log.all.String())
	}
	return r, code
}

// awaited closes seen once the sign is written to it.
type awaited struct {
	sign string
	seen chan struct{}
	all  bytes.Buffer
}

func (s *awaited) Write(b []byte) (int, error) {
	before := strings.Contains(s.all.String(), s.sign)
	s.all.Write(b)
	if !before && strings.Contains(s.all.String(), s.sign) {
		close(s.seen)
	}
	return len(b), nil
}

// reflected is a link with a reflector at its far end.
func reflected(t *testing.T) (*testnet.Link, *reflect.Reflector, []string) {
	t.Helper()
	l := testnet.NewPair(t, testnet.LinkOptions{})
	var r *reflect.Reflector
	if err := l.B.Namespace.Do(func() (err error) { r, err = reflect.Attach(l.B.Interface, reflect.Options{}); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return l, r, []string{"-i", l.A.Interface, "--src", l.A.IPv4.Addr().String(), "--dst", l.B.IPv4.Addr().String(), "--line", "10Mbit", "--size", "256"}
}

// Ctrl-C: what was sent until then is counted, and nothing of it is lost.
func TestInterruptedGenerate(t *testing.T) {
	l, _, args := reflected(t)
	r, code := during(t, l.A.Namespace, "sends by", func(cancel context.CancelFunc) {
		time.Sleep(500 * time.Millisecond)
		cancel()
	}, append([]string{"generate", "--rate", "2000", "--duration", "1m"}, args...)...)
	sent, lost := trialValue(t, r, "frames", result.FramesSent), trialValue(t, r, "frames", result.FramesLost)
	if code != exitDone || r.Ending != result.Interrupted || sent < 100 || sent > 60_000 || lost != 0 {
		t.Errorf("exit status %d, %s: %v sent, %v lost", code, r.Ending, sent, lost)
	}
}

// Ctrl-C in a search: the sizes done are kept, the result says how it ended.
func TestInterruptedSearch(t *testing.T) {
	l, _, args := reflected(t)
	args[len(args)-1] = "256,512,1518"
	r, code := during(t, l.A.Namespace, "512 bytes:", func(cancel context.CancelFunc) { cancel() },
		append([]string{"rfc2544", "throughput", "--duration", "300ms"}, args...)...)
	if code != exitDone || r.Ending != result.Interrupted || trialValue(t, r, "throughput", result.ThroughputRate) == 0 || len(r.Readings) == 0 {
		t.Errorf("exit status %d, %s, %d trials, %d readings", code, r.Ending, len(r.Trials), len(r.Readings))
	}
}

// The device goes away in the middle: the state is named, and what was measured
// before is there.
func TestDeviceGoesAway(t *testing.T) {
	for _, c := range []struct {
		name, want string
		happen     func(*testnet.Link, *reflect.Reflector) error
	}{
		{"link down", "the link of eth0 is down", func(l *testnet.Link, _ *reflect.Reflector) error { return l.B.SetUp(false) }},
		{"silent reflector", "is silent", func(_ *testnet.Link, r *reflect.Reflector) error { return r.Close() }},
	} {
		l, refl, args := reflected(t)
		args[len(args)-1] = "256,512"
		r, code := during(t, l.A.Namespace, "512 bytes:", func(context.CancelFunc) {
			if err := c.happen(l, refl); err != nil {
				t.Error(err)
			}
		}, append([]string{"mlr", "--final", "200ms", "--sum", "10s"}, args...)...)
		if code != exitFailed || r.Ending != result.Failed || !strings.Contains(r.Error, c.want) {
			t.Errorf("%s: exit status %d, %s, %q, want %q", c.name, code, r.Ending, r.Error, c.want)
		}
		if len(r.Trials) == 0 || len(r.Readings) == 0 {
			t.Errorf("%s: the partial result is gone", c.name)
		}
	}
}

// Nothing comes at all: neither a throughput of zero nor a search, but an error
// that says what to look at.
func TestNothingArrives(t *testing.T) {
	l, refl, args := reflected(t)
	if err := refl.Close(); err != nil {
		t.Fatal(err)
	}
	r, code := during(t, l.A.Namespace, "never", func(context.CancelFunc) {}, append([]string{"rfc2544", "throughput"}, args...)...)
	if code != exitFailed || !strings.Contains(r.Error, "nothing arrived") || !strings.Contains(r.Error, "check cable") || len(r.Trials) != 0 {
		t.Errorf("exit status %d, %q, %d trials", code, r.Error, len(r.Trials))
	}
	if err := l.B.SetUp(false); err != nil {
		t.Fatal(err)
	}
	r, code = during(t, l.A.Namespace, "never", func(context.CancelFunc) {}, append([]string{"generate"}, args...)...)
	if code != exitFailed || !strings.Contains(r.Error, "the link of eth0 is down") {
		t.Errorf("exit status %d, %q", code, r.Error)
	}
}

// overwhelmed is a tester and a device that passes few frames and drops all of
// many.
type overwhelmed struct{ last generator.Load }

func (o *overwhelmed) Name() string       { return "overwhelmed" }
func (o *overwhelmed) Reset() error       { return nil }
func (o *overwhelmed) Watch(uint64) error { return nil }
func (o *overwhelmed) Close() error       { return nil }

func (o *overwhelmed) Send(_ context.Context, l generator.Load) (generator.Sent, error) {
	o.last = l
	return generator.Sent{Frames: l.Frames, Duration: time.Duration(float64(l.Frames) / l.Rate * 1e9)}, nil
}

func (o *overwhelmed) Counts() (r generator.Received, _ error) {
	if o.last.Frames < 1000 {
		r.Unique, r.Frames = o.last.Frames, o.last.Frames
	}
	return r, nil
}

// A device that drops everything of an overload is measured, not given up: a
// loss of 100 % is a result.
func TestEverythingLostIsALoss(t *testing.T) {
	o := &overwhelmed{}
	m := &measurer{rig: &rig{directions: []*direction{{from: "a", to: "b", sender: o, sink: o}}}}
	out, err := m.Measure(t.Context(), search.TrialInput{Load: 1e6, Duration: time.Second})
	if err != nil || out.LossRatio != 1 {
		t.Errorf("loss ratio %v, %v, want 1", out.LossRatio, err)
	}
}

// A reset is measured by stamps and by counts, with a command for a hook.
func TestReset(t *testing.T) {
	tester, _, out, in := device(t)
	ip := testnet.NeedTool(t, "ip")
	r := process(t, tester, "rfc2544", "reset", "-i", out.Interface, "--in", in.Interface, "--src", out.IPv4.Addr().String(), "--dst", in.IPv4.Addr().String(),
		"--via", gateway(out), "--line", "2Mbit", "--size", "256", "--duration", "300ms", "--resolution", "0.05", "--window", "3s",
		"--hook", ip+" link set "+in.Interface+" down; sleep 0.5; "+ip+" link set "+in.Interface+" up")
	for _, tr := range r.Trials {
		stamps, _ := result.Get(tr.Values, result.ResetSeconds, "by", "stamps")
		counts, ok := result.Get(tr.Values, result.ResetSeconds, "by", "counts")
		if ok && (!tr.Pass || stamps < 0.5 || stamps > 2.5 || counts < 0.45 || counts > 1.1*stamps+0.1) {
			t.Errorf("%.3f s by stamps, %.3f s by counts, want a little over 0.5: %s", stamps, counts, tr.Note)
		}
		if ok {
			return
		}
	}
	t.Errorf("no reset in %+v", r.Trials)
}
