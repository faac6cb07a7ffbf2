package generator

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/testnet"
)

func profile(t *testing.T, l *testnet.Link) Profile {
	t.Helper()
	mac := func(s string) net.HardwareAddr {
		m, err := net.ParseMAC(s)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	return Profile{Sizes: []int{64}, Source: mac(l.A.MAC), Dest: mac(l.B.MAC), Flows: 1, StampEvery: 64,
		SourceIP: netip.MustParseAddr("198.18.1.2"), DestIP: netip.MustParseAddr("198.19.1.2")}
}

// rig is a sink at B and a way to send from A.
func rig(t *testing.T, flows int) (*testnet.Link, Receiver) {
	t.Helper()
	l := testnet.NewPair(t, testnet.LinkOptions{Bare: true})
	var r Receiver
	err := l.B.Namespace.Do(func() (err error) { r, err = OpenSink(l.B.Interface, flows); return err })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return l, r
}

func send(t *testing.T, l *testnet.Link, p Profile, load Load) Sent {
	t.Helper()
	var sent Sent
	err := l.A.Namespace.Do(func() error {
		s, err := OpenLive(l.A.Interface, p, 0)
		if err != nil {
			return err
		}
		sent, err = s.Send(t.Context(), load)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

// counts waits for late frames, as the RFC has it, only shorter.
func counts(t *testing.T, r Receiver) Received {
	t.Helper()
	time.Sleep(50 * time.Millisecond)
	got, err := r.Counts()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestEveryFrameArrivesOnce(t *testing.T) {
	l, r := rig(t, 1024)
	for _, c := range []struct {
		name  string
		edit  func(*Profile)
		load  Load
		bytes uint64 // per 12 frames, without FCS
	}{
		{"as fast as possible", func(*Profile) {}, Load{Frames: 300_000}, 12 * 60},
		{"paced", func(*Profile) {}, Load{Frames: 24_000, Rate: 200_000}, 12 * 60},
		{"flows and hosts", func(p *Profile) { p.Flows, p.Hosts = 1024, 256 }, Load{Frames: 60_000}, 12 * 60},
		{"mix", func(p *Profile) { p.Sizes = IMIX() }, Load{Frames: 60_000}, 7*60 + 4*590 + 1514},
		{"VLAN", func(p *Profile) { p.VLAN, p.Sizes = 100, []int{128} }, Load{Frames: 12_000}, 12 * 124},
		{"IPv6", func(p *Profile) {
			p.SourceIP, p.DestIP, p.Sizes = netip.MustParseAddr("2001:2::2"), netip.MustParseAddr("2001:2:0:8000::2"), []int{86}
		}, Load{Frames: 12_000}, 12 * 82},
		{"bursts", func(*Profile) {}, Load{Frames: 24_000, Rate: 100_000, Burst: 16}, 12 * 60},
	} {
		p := profile(t, l)
		c.edit(&p)
		if err := r.Reset(); err != nil {
			t.Fatal(err)
		}
		sent := send(t, l, p, c.load)
		got := counts(t, r)
		if sent.Frames != c.load.Frames || got.Unique != sent.Frames || got.Frames != sent.Frames || got.Reordered+got.Corrupt+got.UnknownFlow != 0 {
			t.Errorf("%s: sent %d; received %s", c.name, sent.Frames, brief(got))
		}
		if want := c.load.Frames / 12 * c.bytes; got.Bytes != want {
			t.Errorf("%s: %d bytes, want %d", c.name, got.Bytes, want)
		}
		if got.Latency.N == 0 || got.Latency.Quantile(0.5) <= 0 {
			t.Errorf("%s: no latency", c.name)
		}
	}
}

// brief leaves the histogram out.
func brief(r Received) string {
	return fmt.Sprintf("%d frames, %d unique, %d duplicate, %d reordered, %d too late, %d corrupt, %d foreign, %d of unknown flows",
		r.Frames, r.Unique, r.Duplicate, r.Reordered, r.TooLate, r.Corrupt, r.Foreign, r.UnknownFlow)
}

// Each kind of fault is counted as what it is, exactly.
func TestFaultsAreCountedExactly(t *testing.T) {
	l, r := rig(t, 1)
	const frames, every, n = 100_000, 1000, 100
	for _, c := range []struct {
		name                               string
		kind                               uint32
		lost, duplicate, reordered, broken uint64
	}{
		{"lost", 1, n, 0, 0, 0},
		{"duplicated", 2, n, n, 0, 0}, // sent in another frame's stead, which is lost
		{"reordered", 3, n, 0, n, 0},  // it comes late, in another frame's stead
		{"corrupted", 4, n, 0, 0, n},
	} {
		p := profile(t, l)
		p.fault = fault{kind: c.kind, every: every}
		if err := r.Reset(); err != nil {
			t.Fatal(err)
		}
		sent := send(t, l, p, Load{Frames: frames})
		got := counts(t, r)
		if sent.Frames-got.Unique != c.lost || got.Duplicate != c.duplicate || got.Reordered != c.reordered || got.Corrupt != c.broken || got.TooLate != 0 {
			t.Errorf("%s: lost %d, %s", c.name, sent.Frames-got.Unique, brief(got))
		}
	}
}

// The average rate is the one asked for, unless the schedule had to move, which
// is told.
func TestRateIsExact(t *testing.T) {
	l, r := rig(t, 1)
	for _, rate := range []float64{10_000, 250_000, 1_488_095} {
		if err := r.Reset(); err != nil {
			t.Fatal(err)
		}
		sent := send(t, l, profile(t, l), Load{Frames: uint64(rate / 4), Rate: rate})
		worst := sent.Late.Max() / 1e9 / sent.Duration.Seconds() // the last frame may be late
		if off := math.Abs(sent.Rate()/rate - 1); sent.Slips == 0 && off > 1e-6+worst {
			t.Errorf("%.0f frame/s: offered %.3f", rate, sent.Rate())
		}
		if sent.Late.N != sent.Frames {
			t.Errorf("lateness of %d departures, %d frames sent", sent.Late.N, sent.Frames)
		}
		t.Logf("%.0f frame/s: offered %.3f, late p50 %.0f ns, p99 %.0f ns, %d slips", rate, sent.Rate(), sent.Late.Quantile(0.5), sent.Late.Quantile(0.99), sent.Slips)
	}
}

// What leaves is right to the last bit, for others to judge: headers,
// checksums, signature.
func TestFramesAreValid(t *testing.T) {
	for _, c := range []struct {
		v6    bool
		sizes []int
	}{{false, []int{128}}, {true, []int{128}}, {false, IMIX()}} {
		l := testnet.NewPair(t, testnet.LinkOptions{Bare: true})
		tap := open(t, l.B, func(n string) (port.Port, error) { return port.OpenXDP(n, port.XDPOptions{}) })
		p := profile(t, l)
		p.Flows, p.Hosts, p.Sizes, p.StampEvery = 16, 8, c.sizes, 1
		if c.v6 {
			p.SourceIP, p.DestIP = netip.MustParseAddr("2001:2::2"), netip.MustParseAddr("2001:2:0:8000::2")
		}
		send(t, l, p, Load{Frames: 200, Rate: 20_000})
		seen := 0
		into := make([]port.Frame, 64)
		for seen < 200 {
			n, err := tap.Recv(into)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range into[:n] {
				if isTest(f.Data) {
					verify(t, f.Data, p, seen)
					seen++
				}
			}
		}
		tap.Close()
		if seen != 200 {
			t.Errorf("%+v: %d of 200 frames seen", c, seen)
		}
	}
}

func TestProveNamesTheSilence(t *testing.T) {
	l, r := rig(t, 1)
	err := l.A.Namespace.Do(func() error {
		s, err := OpenLive("lo", profile(t, l), 0) // no ndo_xdp_xmit: the kernel says nothing
		if err != nil {
			return err
		}
		return Prove(t.Context(), s, r)
	})
	if !errors.Is(err, ErrNothingArrived) {
		t.Errorf("err = %v, want ErrNothingArrived", err)
	}
}

// Without XDP the same frames are made and counted in user space.
func TestPortedSendsTheSameFrames(t *testing.T) {
	for _, edit := range map[string]func(*Profile){
		"plain": func(*Profile) {},
		"mix":   func(p *Profile) { p.Sizes, p.Flows, p.Hosts = IMIX(), 16, 8 },
		"IPv6": func(p *Profile) {
			p.SourceIP, p.DestIP, p.Sizes = netip.MustParseAddr("2001:2::2"), netip.MustParseAddr("2001:2:0:8000::2"), []int{128}
		},
	} {
		l, kernel := rig(t, 16)
		p := profile(t, l)
		edit(&p)
		from := open(t, l.A, port.OpenRaw)
		s, err := NewPorted(from, p)
		if err != nil {
			t.Fatal(err)
		}
		sent, err := s.Send(t.Context(), Load{Frames: 20_000, Rate: 50_000})
		if err != nil {
			t.Fatal(err)
		}
		got := counts(t, kernel)
		if sent.Frames != 20_000 || got.Unique != sent.Frames || got.Corrupt+got.Duplicate+got.UnknownFlow != 0 {
			t.Errorf("sent %d, received %s", sent.Frames, brief(got))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A packet socket or AF_XDP receiver loses what it is too slow for, so that
// here the cable is memory, which waits.
func TestTappedCounts(t *testing.T) {
	a, b := port.Memory(1500, 4096)
	r, err := NewTapped(b, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := Profile{Sizes: []int{64}, Source: make(net.HardwareAddr, 6), Dest: make(net.HardwareAddr, 6), Flows: 2, StampEvery: 1,
		SourceIP: netip.MustParseAddr("198.18.1.2"), DestIP: netip.MustParseAddr("198.19.1.2")}
	s := &ported{p, p.template(), a, 1}
	one := func(n uint64, spoil int) {
		f := s.fill(slices.Clone(s.tmpl.frame), n)
		if spoil > 0 {
			f[spoil] ^= 1
		}
		if n, err := a.Send([]port.Frame{{Data: f}}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	for n := range uint64(2000) {
		switch {
		case n == 100: // lost
		case n == 200: // comes late
		case n == 210:
			one(210, 0)
			one(200, 0)
		case n == 300:
			one(300, 0)
			one(300, 0)
		case n == 400:
			one(400, 55)
		default:
			one(n, 0)
		}
	}
	one(7, 0)     // long known
	one(2000, 44) // not ours any more: flow 257
	one(2001, 42) // no magic
	got := counts(t, r)
	if got.Unique != 1998 || got.Duplicate != 1 || got.Reordered != 1 || got.Corrupt != 1 || got.TooLate != 1 || got.Foreign != 1 || got.UnknownFlow != 1 || got.Latency.N == 0 {
		t.Errorf("received %s", brief(got))
	}
	if err := r.Reset(); err != nil {
		t.Fatal(err)
	}
	if got := counts(t, r); got.Frames != 0 {
		t.Errorf("after Reset: %s", brief(got))
	}
	if err := r.Watch(2); err != nil {
		t.Fatal(err)
	}
	one(0, 0)
	one(2, 0)
	counts(t, r)
	one(10, 0)
	if got := counts(t, r); got.Silence < 50*time.Millisecond || got.LostAt != got.SilenceEnd || got.After != 1 {
		t.Errorf("silence of %v until %d, lost at %d, %d after: %s", got.Silence, got.SilenceEnd, got.LostAt, got.After, brief(got))
	}
}

func open(t *testing.T, e testnet.End, how func(string) (port.Port, error)) (p port.Port) {
	t.Helper()
	err := e.Namespace.Do(func() (err error) { p, err = how(e.Interface); return err })
	if err != nil {
		t.Fatal(err)
	}
	return p
}
