//go:build !386 && !arm && !mips && !mipsle

package netstack

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/netstack/nic"
	"github.com/linerate/linerate/internal/testnet"
)

// endpoint is a Stack on one end of a veth whose other end is the kernel's.
type endpoint struct {
	*Stack
	addr netip.Addr
	peer testnet.End
}

// setting is what a test varies of an endpoint.
type setting struct {
	knobs   Knobs
	card    nic.Config
	ring    int
	offload bool
}

func newEndpoint(t testing.TB, s setting) endpoint {
	t.Helper()
	off := testnet.OffloadNone
	if s.offload {
		off = testnet.OffloadAll
		s.knobs.Checksum, s.knobs.Segment = true, true
	}
	link := testnet.NewPair(t, testnet.LinkOptions{Offload: off})
	var w nic.Wire
	err := link.A.Namespace.Do(func() (err error) {
		w, err = nic.OpenPacket(link.A.Interface, nic.Options{Ring: s.ring, Offload: s.offload})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	card, err := nic.New(w, s.card)
	if err != nil {
		t.Fatal(err)
	}
	four := netip.PrefixFrom(link.A.IPv4.Addr().Next().Next().Next(), link.A.IPv4.Bits())
	addrs := []netip.Prefix{four}
	if link.A.IPv6.IsValid() {
		addrs = append(addrs, netip.PrefixFrom(link.A.IPv6.Addr().Next().Next().Next(), link.A.IPv6.Bits()))
	}
	st, err := New(Config{Card: card, Addresses: addrs, Knobs: s.knobs})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- st.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return endpoint{st, four.Addr(), link.B}
}

// serve answers each connection with f until the test ends.
func (e endpoint) serve(t testing.TB, addr string, f func(net.Conn)) string {
	t.Helper()
	l, err := e.Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue
			}
			go func() {
				defer c.Close()
				f(c)
			}()
		}
	}()
	return l.Addr().String()
}

func (e endpoint) dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	c, err := e.peer.Namespace.DialContext(ctx, "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestEchoWithTheKernel moves bytes both ways between the stack and Linux, in
// both families, with and without the card's engines, through every pacing
// mode, split placement and delayed acknowledgements.
func TestEchoWithTheKernel(t *testing.T) {
	for name, s := range map[string]setting{
		"plain":         {},
		"offload":       {offload: true},
		"small buffers": {knobs: Knobs{TransmitBuffer: 8192, ReceiveBuffer: 8192, NoDelay: true}},
		"since first":   {card: nic.Config{Pacing: nic.Pacing{Mode: nic.SinceFirst, Timer: 2 * nic.Tick}}},
		"since last":    {card: nic.Config{Pacing: nic.Pacing{Mode: nic.SinceLast, Timer: nic.Tick, Threshold: 16}}},
		"interrupt":     {card: nic.Config{Pacing: nic.Pacing{Mode: nic.SinceInterrupt, Timer: 2 * nic.Tick}}},
		"split":         {card: nic.Config{Split: 64}},
		"stop":          {card: nic.Config{StopAfterEach: true}},
		"reclaim":       {card: nic.Config{ReclaimInSend: true, Transmit: 512, TransmitInterrupt: 8}},
		"delayed":       {knobs: Knobs{AckEvery: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, s)
			at := e.serve(t, netip.AddrPortFrom(e.addr, 7).String(), func(c net.Conn) { io.Copy(c, c) })
			echo(t, e.dial(t, at), 4<<20)
		})
	}
}

// echo sends n random bytes and wants them back.
func echo(t *testing.T, c net.Conn, n int) {
	t.Helper()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	sent := make([]byte, n)
	rand.Read(sent)
	go func() {
		c.Write(sent)
		c.(interface{ CloseWrite() error }).CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil || string(got) != string(sent) {
		t.Fatalf("%d of %d bytes came back, or wrong ones: %v", len(got), n, err)
	}
}

// TestBothFamilies also makes the stack the client.
func TestBothFamilies(t *testing.T) {
	e := newEndpoint(t, setting{})
	for _, p := range e.Addresses() {
		at := e.serve(t, netip.AddrPortFrom(p.Addr(), 7).String(), func(c net.Conn) { io.Copy(c, c) })
		echo(t, e.dial(t, at), 1<<20)
	}
	l, err := e.peer.Namespace.Listen(t.Context(), "tcp", netip.AddrPortFrom(e.peer.IPv4.Addr(), 0).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		if c, err := l.Accept(); err == nil {
			io.Copy(c, c)
			c.Close()
		}
	}()
	c, err := e.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	echo(t, c, 1<<20)
}

// TestMemoryBudget is the field report's trap: with larger buffers than the
// heap holds, connections fail with ENOMEM and ping still works.
func TestMemoryBudget(t *testing.T) {
	e := newEndpoint(t, setting{knobs: Knobs{TransmitBuffer: 64 << 10, ReceiveBuffer: 64 << 10, Memory: 256 << 10}})
	at := netip.AddrPortFrom(e.addr, 7).String()
	l, err := e.Listen(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var held []net.Conn
	for range 2 {
		e.dial(t, at)
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	refused := e.dial(t, at)
	if _, err := l.Accept(); !errors.Is(err, syscall.ENOMEM) {
		t.Fatalf("a third connection: %v, want ENOMEM", err)
	}
	refused.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := refused.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the peer of the refused connection got %v, want a reset", err)
	}
	if err := ping(e); err != nil {
		t.Errorf("ping while memory is out: %v", err)
	}
	held[0].Close()
	e.dial(t, at)
	if _, err := l.Accept(); err != nil {
		t.Errorf("after one was closed: %v, want a connection", err)
	}
}

// ping asks the stack for an ICMP echo (RFC 792) from the kernel's end.
func ping(e endpoint) error {
	c, err := e.peer.Namespace.ListenPacket(context.Background(), "ip4:icmp", e.peer.IPv4.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Second))
	request := []byte{8, 0, 0xf7, 0xff, 0, 0, 0, 0} // its sum is right
	if _, err := c.WriteTo(request, &net.IPAddr{IP: e.addr.AsSlice()}); err != nil {
		return err
	}
	reply := make([]byte, 64)
	for {
		n, _, err := c.ReadFrom(reply)
		if err != nil || n >= 8 && reply[0] == 0 {
			return err
		}
	}
}

// TestDeadlines ends waits in both directions with the error net documents.
func TestDeadlines(t *testing.T) {
	e := newEndpoint(t, setting{knobs: Knobs{TransmitBuffer: 8192, ReceiveBuffer: 8192}})
	at := netip.AddrPortFrom(e.addr, 7).String()
	l, err := e.Listen(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	e.dial(t, at)
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	time.AfterFunc(50*time.Millisecond, func() { c.SetDeadline(time.Unix(1, 0)) })
	var timeout net.Error
	if _, err := c.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("read: %v, want a timeout", err)
	}
	c.SetDeadline(time.Time{})
	time.AfterFunc(50*time.Millisecond, func() { c.SetWriteDeadline(time.Unix(1, 0)) })
	if _, err := c.Write(make([]byte, 16<<20)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("write: %v, want a timeout", err)
	}
}
