package port_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/testnet"
)

// TestConformance sends numbered frames of every kind of length over each pair
// of Ports and wants them whole, once and in order.
func TestConformance(t *testing.T) {
	open := map[string]func(*testing.T) (from, to port.Port){
		"memory":         func(*testing.T) (port.Port, port.Port) { return port.Memory(1500, 512) },
		"capture file":   inFile,
		"raw to TAP":     device(port.OpenRaw, false),
		"TAP to raw":     device(port.OpenRaw, true),
		"raw, jumbo":     jumbo(port.OpenRaw, port.OpenRaw),
		"stamped":        pair(stamped, stamped),
		"raw":            pair(port.OpenRaw, port.OpenRaw),
		"raw to AF_XDP":  pair(port.OpenRaw, func(n string) (port.Port, error) { return port.OpenXDP(n, port.XDPOptions{}) }),
		"AF_XDP to raw":  pair(func(n string) (port.Port, error) { return port.OpenXDP(n, port.XDPOptions{SendOnly: true}) }, port.OpenRaw),
		"AF_XDP generic": pair(port.OpenRaw, func(n string) (port.Port, error) { return port.OpenXDP(n, port.XDPOptions{Generic: true}) }),
	}
	for name, open := range open {
		t.Run(name, func(t *testing.T) {
			from, to := open(t)
			defer from.Close()
			defer to.Close()
			carry(t, from, to)
			silent(t, to)
		})
	}
}

// inFile writes a capture file and follows it.
func inFile(t *testing.T) (port.Port, port.Port) {
	name := filepath.Join(t.TempDir(), "frames.pcap")
	from, err := port.OpenFile(name, 1500)
	if err != nil {
		t.Fatal(err)
	}
	to, err := port.OpenFile(name, 1500)
	if err != nil {
		t.Fatal(err)
	}
	return from, to
}

// device opens a TAP and the same interface from the stack's side; inward sends
// into the stack.
func device(stack opener, inward bool) func(*testing.T) (port.Port, port.Port) {
	return func(t *testing.T) (port.Port, port.Port) {
		e := testnet.End{Namespace: testnet.NewNamespace(t, "tap"), Interface: "tap0"}
		p := in(t, e, port.OpenTAP)
		other := in(t, e, stack)
		if inward {
			return p, other
		}
		return other, p
	}
}

func stamped(name string) (port.Port, error) { return port.OpenStamped(name, false) }

// jumbo is pair on a link of jumbo frames.
func jumbo(a, b opener) func(*testing.T) (port.Port, port.Port) {
	return func(t *testing.T) (port.Port, port.Port) {
		l := testnet.NewPair(t, testnet.LinkOptions{Bare: true, MTU: testnet.JumboMTU})
		return in(t, l.A, a), in(t, l.B, b)
	}
}

type opener func(name string) (port.Port, error)

// pair opens a Port at each end of a link.
func pair(a, b opener) func(*testing.T) (port.Port, port.Port) {
	return func(t *testing.T) (port.Port, port.Port) {
		l := testnet.NewPair(t, testnet.LinkOptions{Bare: true})
		return in(t, l.A, a), in(t, l.B, b)
	}
}

func in(t *testing.T, e testnet.End, open opener) (p port.Port) {
	t.Helper()
	err := e.Namespace.Do(func() (err error) { p, err = open(e.Interface); return err })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const ethertype = 0x88b5 // IEEE 802 local experimental

// frame makes the n-th frame of the test.
func frame(n, size int) []byte {
	b := append(bytes.Repeat([]byte{0xff}, 6), net.HardwareAddr{2, 0, 0, 0, 0, 1}...)
	b = binary.BigEndian.AppendUint16(b, ethertype)
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	for len(b) < size {
		b = append(b, byte(n+len(b)))
	}
	return b
}

func carry(t *testing.T, from, to port.Port) {
	t.Helper()
	const total = 5000
	sizes := []int{60, 64, 128, 1000, 1513, 1514}
	if from.Info().MTU > 1500 {
		sizes = append(sizes, 3500, 4092, 9014)
	}
	into := make([]port.Frame, 64)
	got, next := 0, 0
	for deadline := time.Now().Add(20 * time.Second); got < total; {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d frames arrived", got, total)
		}
		// Few in flight: veth's own queue is short.
		var out []port.Frame
		for n := next; n < total && len(out) < 32 && n-got < 128; n++ {
			out = append(out, port.Frame{Data: frame(n, sizes[n%len(sizes)])})
		}
		sent, err := from.Send(out)
		if err != nil {
			t.Fatal(err)
		}
		next += sent
		n, err := to.Recv(into)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		for _, f := range into[:n] {
			if binary.BigEndian.Uint16(f.Data[12:]) != ethertype {
				continue // the stack's own
			}
			if want := frame(got, sizes[got%len(sizes)]); !bytes.Equal(f.Data, want) || f.Len != len(want) || f.At.IsZero() {
				t.Fatalf("frame %d: %d bytes, want %d; or its content differs", got, len(f.Data), len(want))
			}
			got++
		}
	}
}

// silent wants no frame of ours any more, and an end to the waiting.
func silent(t *testing.T, p port.Port) {
	t.Helper()
	into := make([]port.Frame, 4)
	for range 50 { // the stack may send some of its own
		n, err := p.Recv(into)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		for _, f := range into[:n] {
			if binary.BigEndian.Uint16(f.Data[12:]) == ethertype {
				t.Errorf("a frame came twice")
			}
		}
	}
	t.Error("Recv of nothing never came back")
}

// What was there before is read, not written.
func TestFileThatWasThere(t *testing.T) {
	name := filepath.Join(t.TempDir(), "frames.pcap")
	w, err := port.OpenFile(name, 1500)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := w.Send([]port.Frame{{Data: frame(1, 64)}}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := port.OpenFile(name, 1500)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Send([]port.Frame{{Data: frame(2, 64)}}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("write to a file that was there: %v, want ErrUnsupported", err)
	}
	into := make([]port.Frame, 4)
	if n, err := r.Recv(into); n != 1 || err != nil || !bytes.Equal(into[0].Data, frame(1, 64)) {
		t.Errorf("read %d frames, %v", n, err)
	}
	bad := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(bad, []byte("these are no frames at all, only text"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err = port.OpenFile(bad, 1500)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 20 {
		if _, err = r.Recv(into); !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
	}
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("text as a capture: %v", err)
	}
}

// A TUN carries bare packets both ways: a datagram of the stack, and our answer.
func TestTUN(t *testing.T) {
	e := testnet.End{Namespace: testnet.NewNamespace(t, "tun"), Interface: "tun0"}
	p := in(t, e, port.OpenTUN)
	defer p.Close()
	if p.Info().Link != 101 {
		t.Errorf("link type %d, want that of bare packets", p.Info().Link)
	}
	if out, err := e.Namespace.Run(t.Context(), testnet.NeedTool(t, "ip"), "addr", "add", "198.18.9.1/24", "dev", "tun0"); err != nil {
		t.Fatal(out, err)
	}
	c, err := e.Namespace.DialContext(t.Context(), "udp4", "198.18.9.2:7")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("echo")); err != nil {
		t.Fatal(err)
	}
	into := make([]port.Frame, 4)
	for range 20 {
		n, _ := p.Recv(into) // a deadline is waited for again
		for _, f := range into[:n] {
			if f.Data[0] != 0x45 || !bytes.HasSuffix(f.Data, []byte("echo")) {
				continue // the stack's own, as of IPv6
			}
			back := bytes.Clone(f.Data)
			copy(back[12:], f.Data[16:20])
			copy(back[16:], f.Data[12:16])
			copy(back[20:], f.Data[22:24])
			copy(back[22:], f.Data[20:22])
			if n, err := p.Send([]port.Frame{{Data: back}}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			if err := c.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
				t.Fatal(err)
			}
			answer := make([]byte, 16)
			if n, err := c.Read(answer); err != nil || string(answer[:n]) != "echo" {
				t.Errorf("answer %q, %v", answer[:n], err)
			}
			return
		}
	}
	t.Error("the datagram did not reach the TUN")
}

// A frame's departure comes before its arrival, by the kernel's clock; veth has
// no clock of its own, and says so.
func TestStamps(t *testing.T) {
	l := testnet.NewPair(t, testnet.LinkOptions{Bare: true})
	from, to := in(t, l.A, stamped).(port.Stamped), in(t, l.B, stamped)
	defer from.Close()
	defer to.Close()
	if err := l.A.Namespace.Do(func() error {
		s, err := port.StampingOf(l.A.Interface)
		if s.Hardware || err != nil {
			t.Errorf("veth stamps in hardware: %+v, %v", s, err)
		}
		_, err = port.OpenStamped(l.A.Interface, true)
		if err == nil {
			t.Error("veth's hardware stamps could be switched on")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	if n, err := from.Send([]port.Frame{{Data: frame(0, 64)}}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	left, err := from.Departure()
	if err != nil {
		t.Fatal(err)
	}
	into := make([]port.Frame, 16)
	for range 10 {
		n, _ := to.Recv(into) // a deadline is waited for again
		for _, f := range into[:n] {
			if bytes.Equal(f.Data, frame(0, 64)) {
				if f.At.Before(left) || left.Before(before) || f.At.After(time.Now()) {
					t.Errorf("sent at %v after %v, received at %v", left, before, f.At)
				}
				return
			}
		}
	}
	t.Error("the frame did not come")
}

func TestClosedMemory(t *testing.T) {
	a, b := port.Memory(1500, 4)
	if n, err := a.Send([]port.Frame{{Data: []byte{1}}, {Data: []byte{2}}}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if n, _ := a.Send(make([]port.Frame, 8)); n != 2 {
		t.Errorf("a cable of 4 took %d more, want 2", n)
	}
	b.Close()
	if _, err := a.Send(make([]port.Frame, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("send on a closed cable: %v", err)
	}
}

// The kernel is asked, and the kernel asks.
func TestNeighboursWithTheKernel(t *testing.T) {
	l := testnet.NewPair(t, testnet.LinkOptions{})
	p := in(t, l.A, port.OpenRaw)
	defer p.Close()
	mac, err := net.ParseMAC(l.A.MAC)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range [][2]netip.Addr{{l.A.IPv4.Addr(), l.B.IPv4.Addr()}, {l.A.IPv6.Addr(), l.B.IPv6.Addr()}} {
		got, err := port.Resolve(t.Context(), p, mac, end[0], end[1])
		if err != nil || got.String() != l.B.MAC {
			t.Errorf("%v is at %v, %v; want %s", end[1], got, err, l.B.MAC)
		}
	}
	if _, err := port.Resolve(t.Context(), p, mac, l.A.IPv4.Addr(), l.A.IPv4.Addr().Next().Next().Next()); !errors.Is(err, port.ErrNoNeighbour) {
		t.Errorf("nobody: %v, want ErrNoNeighbour", err)
	}

	ghost := netip.AddrFrom4([4]byte{l.A.IPv4.Addr().As4()[0], l.A.IPv4.Addr().As4()[1], l.A.IPv4.Addr().As4()[2], 77})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- port.Answer(ctx, p, mac, func(a netip.Addr) bool { return a == ghost }) }()
	if out, err := l.B.Namespace.Run(t.Context(), "ip", "neigh", "show"); err == nil {
		t.Logf("before: %s", out)
	}
	c, err := l.B.Namespace.DialContext(t.Context(), "udp4", ghost.String()+":9")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	resolved := false
	for range 20 {
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		out, err := l.B.Namespace.Run(t.Context(), "ip", "neigh", "show", ghost.String())
		if err != nil {
			t.Fatal(err)
		}
		if resolved = strings.Contains(out, l.A.MAC); resolved {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !resolved {
		t.Errorf("the kernel did not take our answer for %v", ghost)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// The kernel keeps VLAN tags apart from frames; both ways of receiving put them
// back.
func TestVLANTagsStay(t *testing.T) {
	l := testnet.NewPair(t, testnet.LinkOptions{Bare: true})
	from := in(t, l.A, port.OpenRaw)
	defer from.Close()
	for name, open := range map[string]opener{"raw": port.OpenRaw, "tap": func(n string) (port.Port, error) { return port.Listen(n, 2048) }} {
		to := in(t, l.B, open)
		want := frame(7, 64)
		tagged := append(append(append([]byte(nil), want[:12]...), 0x81, 0, 0x20, 100), want[12:]...)
		if n, err := from.Send([]port.Frame{{Data: tagged}}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		found := false
		into := make([]port.Frame, 16)
		for range 20 {
			n, _ := to.Recv(into) // a deadline is waited for again
			for _, f := range into[:n] {
				found = found || bytes.Equal(f.Data, tagged) && f.Len == len(tagged)
			}
			if found {
				break
			}
		}
		if !found {
			t.Errorf("%s: the tagged frame did not come whole", name)
		}
		to.Close()
	}
}
