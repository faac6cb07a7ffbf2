package reflect

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/internal/wire/frame"
)

// test returns a frame of ours from source to destination.
func test(v6, signed bool, vlan bool) []byte {
	b := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}
	if vlan {
		b = append(b, 0x81, 0, 0, 100)
	}
	src, dst := netip.MustParseAddr("198.18.1.2"), netip.MustParseAddr("198.19.1.2")
	if v6 {
		src, dst = netip.MustParseAddr("2001:2::2"), netip.MustParseAddr("2001:2:0:8000::2")
		b = append(b, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 40, 17, 10)
	} else {
		b = append(b, 8, 0, 0x45, 0, 0, 60, 0, 0, 0, 0, 10, 17, 0, 0)
	}
	b = append(append(b, src.AsSlice()...), dst.AsSlice()...)
	b = append(b, 0xc0, 0x20, 0, 7, 0, 40, 0, 0)
	payload := make([]byte, 0, 32)
	if signed {
		payload = frame.Signature{Flow: 3, Sequence: 99, Stamp: 7}.Append(payload)
	}
	for len(payload) < 32 {
		payload = append(payload, 0xaa)
	}
	return append(b, payload...)
}

func TestReflects(t *testing.T) {
	attach := func(o Options) func(*testing.T, testnet.End) func() Counts {
		return func(t *testing.T, e testnet.End) func() Counts {
			var r *Reflector
			if err := e.Namespace.Do(func() (err error) { r, err = Attach(e.Interface, o); return err }); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { r.Close() })
			return func() Counts {
				c, err := r.Counts()
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
		}
	}
	serve := func(t *testing.T, e testnet.End) func() Counts {
		p := open(t, e, port.OpenRaw)
		return background(t, Arms{In: p, Out: p}, Options{})
	}
	for _, c := range []struct {
		name         string
		start        func(*testing.T, testnet.End) func() Counts
		send         []byte
		back, passed bool
	}{
		{"XDP, IPv4", attach(Options{}), test(false, true, false), true, false},
		{"XDP, IPv6", attach(Options{}), test(true, true, false), true, false},
		{"XDP, VLAN", attach(Options{}), test(false, true, true), true, false},
		{"XDP, not ours", attach(Options{}), test(false, false, false), false, true},
		{"XDP, any", attach(Options{Any: true}), test(false, false, false), true, false},
		{"port, IPv4", serve, test(false, true, false), true, false},
		{"port, IPv6", serve, test(true, true, false), true, false},
		{"port, VLAN", serve, test(false, true, true), true, false},
		{"port, not ours", serve, test(false, false, false), false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := testnet.NewPair(t, testnet.LinkOptions{Bare: true})
			tester := open(t, l.A, port.OpenRaw)
			if strings.HasPrefix(c.name, "XDP") { // veth takes frames of XDP_TX only where XDP runs too
				tester.Close()
				tester = open(t, l.A, func(n string) (port.Port, error) { return port.OpenXDP(n, port.XDPOptions{}) })
			}
			defer tester.Close()
			counts := c.start(t, l.B)
			got := exchange1(t, tester, c.send)
			n := counts()
			if !c.back {
				if got != nil || n.Frames != 0 || n.Foreign == 0 {
					t.Errorf("came back: %x; %+v", got, n)
				}
				return
			}
			want := slices.Clone(c.send)
			var pk frame.Packet
			frame.Decode(ethernet, want, len(want), &pk)
			turn(want, &pk)
			if !bytes.Equal(got, want) || n.Frames != 1 || n.Bytes != uint64(len(want)) {
				t.Errorf("got  %x\nwant %x\n%+v", got, want, n)
			}
		})
	}
}

// background serves until the returned function is called.
func background(t *testing.T, a Arms, o Options) func() Counts {
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan Counts)
	go func() {
		c, err := Serve(ctx, a, o)
		if err != nil {
			t.Error(err)
		}
		done <- c
		if err := errors.Join(a.In.Close(), closeOther(a)); err != nil {
			t.Error(err)
		}
	}()
	return func() Counts { stop(); return <-done }
}

func closeOther(a Arms) error {
	if a.Out == a.In {
		return nil
	}
	return a.Out.Close()
}

// ARP and neighbour solicitations are answered without the stack: the
// interface has no address at all.
func TestAnswersForItsAddresses(t *testing.T) {
	l := testnet.NewPair(t, testnet.LinkOptions{Bare: true})
	p := open(t, l.B, port.OpenRaw)
	mac := []byte{2, 0, 0, 0, 0, 0x42}
	o := Options{Addresses: []netip.Prefix{netip.MustParsePrefix("198.19.1.0/24"), netip.MustParsePrefix("2001:2:0:8000::/64")}}
	counts := background(t, Arms{In: p, Out: p, InMAC: mac}, o)
	tester := open(t, l.A, port.OpenRaw)
	defer tester.Close()
	for _, c := range []struct {
		from, target string
		known        bool
	}{{"198.18.1.2", "198.19.1.2", true}, {"2001:2::2", "2001:2:0:8000::2", true}, {"198.18.1.2", "198.19.2.2", false}} {
		got, err := port.Resolve(t.Context(), tester, []byte{2, 0, 0, 0, 0, 1}, netip.MustParseAddr(c.from), netip.MustParseAddr(c.target))
		if c.known != (err == nil) || c.known && !bytes.Equal(got, mac) {
			t.Errorf("%s is at %v, %v", c.target, got, err)
		}
	}
	if n := counts(); n.Frames != 0 {
		t.Errorf("reflected %d frames", n.Frames)
	}
}

// One-way latency: of stamps of our clock, and none of a stamp from elsewhere.
func TestOneWayLatency(t *testing.T) {
	for name, xdp := range map[string]bool{"XDP": true, "port": false} {
		l := testnet.NewPair(t, testnet.LinkOptions{Bare: true})
		tester := open(t, l.A, port.OpenRaw)
		defer tester.Close()
		var counts func() Counts
		if xdp {
			var r *Reflector
			if err := l.B.Namespace.Do(func() (err error) { r, err = Attach(l.B.Interface, Options{Latency: true}); return err }); err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			counts = func() Counts {
				c, err := r.Counts()
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
		} else {
			p := open(t, l.B, port.OpenRaw)
			counts = background(t, Arms{In: p, Out: p}, Options{Latency: true})
		}
		for _, stamp := range []uint64{monotonic(), 0, 7, monotonic() + 3_600_000_000_000} {
			b := test(false, false, false)
			frame.Signature{Stamp: stamp}.Append(b[:len(b)-32])
			if n, err := tester.Send([]port.Frame{{Data: b}}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		time.Sleep(100 * time.Millisecond)
		if c := counts(); c.Frames != 4 || c.Latency.N != 1 || c.OtherClock != 2 || c.Latency.Max() > 1e9 {
			t.Errorf("%s: %d frames, %d latencies up to %.0f ns, %d of another clock", name, c.Frames, c.Latency.N, c.Latency.Max(), c.OtherClock)
		}
	}
}

func open(t *testing.T, e testnet.End, how func(string) (port.Port, error)) (p port.Port) {
	t.Helper()
	if err := e.Namespace.Do(func() (err error) { p, err = how(e.Interface); return err }); err != nil {
		t.Fatal(err)
	}
	return p
}

// exchange1 sends a frame and returns what comes back of it, nil for nothing.
func exchange1(t *testing.T, p port.Port, b []byte) []byte {
	t.Helper()
	if n, err := p.Send([]port.Frame{{Data: b}}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	into := make([]port.Frame, 16)
	for range 4 {
		n, err := p.Recv(into)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range into[:n] {
			if len(f.Data) >= 12 && binary.BigEndian.Uint32(f.Data[8:]) == 2 {
				return slices.Clone(f.Data)
			}
		}
	}
	return nil
}

// Two arms: what comes in at one goes out of the other, to the next hop.
func TestTwoArms(t *testing.T) {
	in := testnet.NewPair(t, testnet.LinkOptions{Bare: true})
	out := testnet.NewNamespace(t, "out")
	second, err := testnet.Connect(in.B.Namespace, out, testnet.LinkOptions{Bare: true})
	if err != nil {
		t.Fatal(err)
	}
	tap := open(t, second.B, func(n string) (port.Port, error) { return port.OpenXDP(n, port.XDPOptions{}) })
	defer tap.Close()
	hop := []byte{2, 0, 0, 0, 0, 9}
	counts := background(t, Arms{In: open(t, in.B, port.OpenRaw), Out: open(t, second.A, port.OpenRaw)}, Options{Out: second.A.Interface, NextHop: hop})
	crosses(t, in.A, tap, hop)
	if c := counts(); c.Frames != 1 {
		t.Errorf("in user space: %d frames, want 1", c.Frames)
	}
	var r *Reflector
	if err := in.B.Namespace.Do(func() (err error) {
		r, err = Attach(in.B.Interface, Options{Out: second.A.Interface, NextHop: hop})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	crosses(t, in.A, tap, hop)
}

// crosses sends a test frame from a and wants it at tap, sent to hop.
func crosses(t *testing.T, a testnet.End, tap port.Port, hop []byte) {
	t.Helper()
	tester := open(t, a, port.OpenRaw)
	defer tester.Close()
	if n, err := tester.Send([]port.Frame{{Data: test(false, true, false)}}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	into := make([]port.Frame, 16)
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); {
		n, _ := tap.Recv(into) // a deadline is waited for again
		for _, f := range into[:n] {
			if bytes.Equal(f.Data[:6], hop) {
				return
			}
		}
	}
	t.Error("nothing left the second arm")
}
