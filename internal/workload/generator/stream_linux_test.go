package generator

import (
	"errors"
	"math"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/testnet"
)

// senders opens both ways of sending on A.
func senders(t *testing.T, l *testnet.Link, p Profile) map[string]Sender {
	t.Helper()
	out := map[string]Sender{}
	err := l.A.Namespace.Do(func() (err error) {
		out["live"], err = OpenLive(l.A.Interface, p, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if out["ported"], err = NewPorted(open(t, l.A, port.OpenRaw), p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, s := range out {
			s.Close()
		}
	})
	return out
}

// sendFrom sends from within A's namespace.
func sendFrom(t *testing.T, l *testnet.Link, s Sender, load Load) (sent Sent) {
	t.Helper()
	err := l.A.Namespace.Do(func() (err error) { sent, err = s.Send(t.Context(), load); return err })
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

// Every hundredth frame is a broadcast in a test frame's place, and no test
// frame is lost for it: the stream as a whole keeps its rate.
func TestModifiersReplaceFrames(t *testing.T) {
	l, r := rig(t, 4)
	for _, c := range []struct {
		modifier        Modifier
		others, foreign uint64
	}{{Broadcast, 100, 100}, {Management, 1, 0}} {
		p := profile(t, l)
		p.Flows, p.Modifier = 4, c.modifier
		for name, s := range senders(t, l, p) {
			if err := r.Reset(); err != nil {
				t.Fatal(err)
			}
			const frames = 9901 // and 100 between them
			sent := sendFrom(t, l, s, Load{Frames: frames, Rate: 9000})
			got := counts(t, r)
			if sent.Frames != frames || sent.Others != c.others || got.Unique != frames || got.Reordered != 0 || got.Foreign < c.foreign || got.Foreign > c.foreign+20 {
				t.Errorf("modifier %d, %s: %d frames and %d others sent; received %s", c.modifier, name, sent.Frames, sent.Others, brief(got))
			}
			if off := math.Abs(sent.Rate()/9000 - 1); off > 0.05 {
				t.Errorf("modifier %d, %s: %.0f frame/s in all, want 9000", c.modifier, name, sent.Rate())
			}
		}
	}
}

// In whatever order, each flow has one frame a round.
func TestShuffledFlows(t *testing.T) {
	for _, flows := range []int{1, 2, 8, 1024, MaxFlows} {
		p := Profile{Flows: flows, Shuffled: true}
		for round := range uint64(3) {
			seen := make([]bool, flows)
			inOrder := 0
			for i := range uint64(flows) {
				f := p.order(i, round)
				if seen[f] {
					t.Fatalf("%d flows: flow %d twice in round %d", flows, f, round)
				}
				seen[f] = true
				if f == i {
					inOrder++
				}
			}
			if flows > 8 && inOrder > flows/8 {
				t.Errorf("%d flows, round %d: %d in their old place", flows, round, inOrder)
			}
		}
	}
	l, r := rig(t, 1024)
	p := profile(t, l)
	p.Flows, p.Hosts, p.Shuffled = 1024, 256, true
	for name, s := range senders(t, l, p) {
		if err := r.Reset(); err != nil {
			t.Fatal(err)
		}
		sendFrom(t, l, s, Load{Frames: 10_240, Rate: 50_000})
		if got := counts(t, r); got.Unique != 10_240 || got.Reordered+got.UnknownFlow+got.Corrupt != 0 {
			t.Errorf("%s: received %s", name, brief(got))
		}
	}
}

// The rate falls in the middle of a stream without a hole, and the receiver
// counts what came of each part.
func TestStep(t *testing.T) {
	l, r := rig(t, 1)
	for name, s := range senders(t, l, profile(t, l)) {
		if err := errors.Join(r.Reset(), r.Watch(2000)); err != nil {
			t.Fatal(err)
		}
		sent := sendFrom(t, l, s, Load{Frames: 3000, Rate: 20_000, StepAfter: 2000, StepRate: 5000})
		got := counts(t, r)
		want := 2000.0/20_000 + 999.0/5000
		if got.Unique != 3000 || got.After != 1000 || math.Abs(sent.Duration.Seconds()/want-1) > 0.1 {
			t.Errorf("%s: %d received, %d of them after the step, in %v, want 3000, 1000, %.3f s", name, got.Unique, got.After, sent.Duration, want)
		}
		if first := sent.Stepped; first == 0 || first > monotonic() {
			t.Errorf("%s: stepped at %d", name, first)
		}
	}
}

// An outage shows as silence, as frames lost and in when the last loss showed.
func TestWatchSeesAnOutage(t *testing.T) {
	l, r := rig(t, 1)
	if err := r.Watch(0); err != nil {
		t.Fatal(err)
	}
	const outage = 200 * time.Millisecond
	go func() {
		time.Sleep(300 * time.Millisecond)
		err := l.B.SetUp(false)
		time.Sleep(outage)
		if err := errors.Join(err, l.B.SetUp(true)); err != nil {
			t.Error(err)
		}
	}()
	sent := send(t, l, profile(t, l), Load{Frames: 4000, Rate: 4000})
	got := counts(t, r)
	lost := time.Duration(float64(sent.Frames-got.Unique) / 4000 * 1e9)
	if got.Silence < outage || got.Silence > 3*outage || lost < outage*9/10 || lost > got.Silence*11/10 || got.LostAt != got.SilenceEnd {
		t.Errorf("silence of %v, %v of frames lost; want a little over %v", got.Silence, lost, outage)
	}
}

// Frames longer than a page cross by packet socket; the sink in the kernel sees
// them whole.
func TestJumboFrames(t *testing.T) {
	l := testnet.NewPair(t, testnet.LinkOptions{Bare: true, MTU: testnet.JumboMTU})
	var r Receiver
	if err := l.B.Namespace.Do(func() (err error) { r, err = OpenSink(l.B.Interface, 1); return err }); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := profile(t, l)
	p.Sizes = []int{4096, 9018}
	if _, err := OpenLive(l.A.Interface, p, 0); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("in the kernel: %v, want ErrUnsupported", err)
	}
	s, err := NewPorted(open(t, l.A, port.OpenRaw), p)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sendFrom(t, l, s, Load{Frames: 2000, Rate: 10_000})
	if got := counts(t, r); got.Unique != 2000 || got.Bytes != 1000*(4092+9014) {
		t.Errorf("%d bytes in %s", got.Bytes, brief(got))
	}
}

// Jitter is the mean difference of consecutive latencies.
func TestJitter(t *testing.T) {
	l, r := rig(t, 1)
	p := profile(t, l)
	p.StampEvery = 1
	send(t, l, p, Load{Frames: 2000, Rate: 20_000})
	got := counts(t, r)
	if got.Jitter <= 0 || float64(got.Jitter) > got.Latency.Max() {
		t.Errorf("jitter %v, latency up to %.0f ns", got.Jitter, got.Latency.Max())
	}
}

// stalling is a Port that hangs once, and notes what it was given when.
type stalling struct {
	port.Port
	calls []time.Time
	sizes []int
}

func (s *stalling) Info() port.Info { return port.Info{Name: "stalling", Batch: 64} }
func (s *stalling) Close() error    { return nil }

func (s *stalling) Send(f []port.Frame) (int, error) {
	s.calls, s.sizes = append(s.calls, time.Now()), append(s.sizes, len(f))
	if len(s.calls) == 100 {
		time.Sleep(8 * time.Millisecond) // less than LateMax: the schedule stays
	}
	return len(f), nil
}

// What is overdue after a stall leaves at most a third faster than asked: a
// burst would look like the device's loss.
func TestCatchUpIsCapped(t *testing.T) {
	p := Profile{Sizes: []int{64}, Source: make([]byte, 6), Dest: make([]byte, 6), Flows: 1,
		SourceIP: netip.MustParseAddr("198.18.1.2"), DestIP: netip.MustParseAddr("198.19.1.2")}
	wire := &stalling{}
	s, err := NewPorted(wire, p)
	if err != nil {
		t.Fatal(err)
	}
	sent, err := s.Send(t.Context(), Load{Frames: 2000, Rate: 20_000})
	if err != nil || sent.Frames != 2000 || sent.Late.Max() < 7e6 {
		t.Fatalf("%+v, %v", sent.Frames, err)
	}
	after, frames := wire.calls[100], 0
	for i, n := range wire.sizes {
		if n > togetherMax {
			t.Errorf("%d frames in one call", n)
		}
		if i < 100 || frames > 120 {
			continue
		}
		frames += n
		if frames > 120 { // of 160 that are overdue
			if took, least := wire.calls[i].Sub(after), 120*50*time.Microsecond*6/10; took < least {
				t.Errorf("%d overdue frames left within %v, want %v", frames, took, least)
			}
		}
	}
}

// The limit of frames is in the program: a signal ends the call early, and the
// library's would have started over and sent everything again.
func TestSignalsDoNotRepeatFrames(t *testing.T) {
	l, r := rig(t, 1)
	done := make(chan struct{})
	var sent Sent
	err := l.A.Namespace.Do(func() error {
		s, err := OpenLive(l.A.Interface, profile(t, l), 0)
		if err != nil {
			return err
		}
		thread := unix.Gettid()
		go func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(50 * time.Millisecond):
					_ = unix.Tgkill(unix.Getpid(), thread, unix.SIGURG) // the thread may be gone by now
				}
			}
		}()
		sent, err = s.Send(t.Context(), Load{Frames: 50_000, Rate: 100_000})
		close(done)
		return err
	})
	if got := counts(t, r); err != nil || sent.Frames != 50_000 || got.Frames != 50_000 || got.Unique != 50_000 {
		t.Errorf("%v: %d frames sent, %s", err, sent.Frames, brief(got))
	}
}

// A veth peer with neither XDP nor GRO loses every live frame, and no counter
// tells.
func TestProveWithoutXDPAtThePeer(t *testing.T) {
	l := testnet.NewPair(t, testnet.LinkOptions{Bare: true, Offload: testnet.OffloadSegments})
	r, err := NewTapped(open(t, l.B, port.OpenRaw), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	err = l.A.Namespace.Do(func() error {
		s, err := OpenLive(l.A.Interface, profile(t, l), 0)
		if err != nil {
			return err
		}
		return Prove(t.Context(), s, r)
	})
	if !errors.Is(err, ErrNothingArrived) {
		t.Errorf("%v, want ErrNothingArrived", err)
	}
}
