package inspect

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/testnet"
)

// udpFrame makes a frame with that many bytes of UDP payload.
func udpFrame(source uint16, payload int) []byte {
	b := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2}
	binary.BigEndian.PutUint16(b[16:], uint16(28+payload))
	b = binary.BigEndian.AppendUint16(b, source)
	b = append(b, 0, 53)
	b = binary.BigEndian.AppendUint16(b, uint16(8+payload))
	b = append(b, 0, 0)
	for i := range payload {
		b = append(b, byte(i))
	}
	return b
}

// tcpFrame makes a tagged frame with 12 bytes of options and a payload.
func tcpFrame(payload int) []byte {
	b := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0, 100, 0x86, 0xdd, 0x60, 0, 0, 0, 0, byte(32 + payload), 6, 64}
	b = append(b, bytes.Repeat([]byte{0x20}, 32)...)
	b = append(b, 0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x80, 0x18, 0xff, 0xff, 0, 0, 0, 0)
	return append(b, make([]byte, 12+payload)...)
}

// loaded returns an inspector in the kernel but on no interface.
func loaded(t testing.TB, o Options) *Inspector {
	t.Helper()
	testnet.NeedRoot(t)
	i := &Inspector{options: o.defaulted(), boot: bootTime()}
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	err := i.load()
	if err == nil && i.options.Mode != Count {
		i.ring, err = openRing(i.objects.Records.FD(), i.options.Ring)
	}
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() { i.Close() })
	return i
}

// each runs frames through the program of a place, where they must go on
// unchanged.
func (i *Inspector) each(t *testing.T, place Place, frames ...[]byte) {
	t.Helper()
	p, pass := i.objects.Driver, uint32(xdpPass)
	if place == Stack {
		p, pass = i.objects.In, ^uint32(0)
	}
	for _, b := range frames {
		out := make([]byte, len(b)+64)
		verdict, err := p.Run(&ebpf.RunOptions{Data: b, DataOut: out})
		if err != nil || verdict != pass {
			t.Fatalf("verdict %d, %v", verdict, err)
		}
		if !bytes.Equal(out[:len(b)], b) {
			t.Errorf("the frame was changed:\n%x\n%x", b, out[:len(b)])
		}
	}
}

func (i *Inspector) drained() (out []Record) {
	i.ring.drain(func(b []byte) {
		var r Record
		i.decode(b, &r)
		r.Data = slices.Clone(r.Data)
		out = append(out, r)
	})
	return out
}

func TestWhatIsTaken(t *testing.T) {
	small, large, tagged := udpFrame(1000, 4), udpFrame(1000, 1400), tcpFrame(500)
	for _, c := range []struct {
		name    string
		options Options
		want    [3]int // bytes of small, large and tagged
	}{
		{"split", Options{}, [3]int{46, 64, 64}},
		{"split, 20 bytes", Options{Headers: 20}, [3]int{20, 20, 20}},
		{"split, 100 bytes", Options{Headers: 100}, [3]int{46, 100, 100}},
		{"split by protocol", Options{Protocol: true}, [3]int{42, 42, 90}},
		{"full", Options{Mode: Full}, [3]int{46, len(large), len(tagged)}},
		{"full, 700 bytes", Options{Mode: Full, Snap: 700}, [3]int{46, 700, len(tagged)}},
		{"filter", Options{Filter: "udp and greater 100"}, [3]int{0, 64, 0}},
		{"filter on a tag", Options{Filter: "vlan 100 and tcp port 80"}, [3]int{0, 0, 64}},
	} {
		for _, place := range []Place{Driver, Stack} {
			t.Run(c.name+", "+string(place), func(t *testing.T) {
				i := loaded(t, c.options)
				before := time.Now()
				frames := [][]byte{small, large, tagged}
				i.each(t, place, frames...)
				got := i.drained()
				matched := 0
				for k, want := range c.want {
					if want == 0 {
						continue
					}
					if matched >= len(got) {
						t.Fatalf("%d records", len(got))
					}
					r := got[matched]
					matched++
					if r.Length != len(frames[k]) || !bytes.Equal(r.Data, frames[k][:want]) || r.Outgoing {
						t.Errorf("frame %d: %d of %d bytes, want %d: %x", k, len(r.Data), r.Length, want, r.Data)
					}
					if r.At.Before(before.Add(-time.Second)) || r.At.After(time.Now().Add(time.Second)) {
						t.Errorf("frame %d at %v", k, r.At)
					}
				}
				n, err := i.Counts()
				if err != nil || len(got) != matched || n.Seen != 3 || n.Matched != uint64(matched) || n.Taken != uint64(matched) || n.Lost != 0 {
					t.Errorf("%d records, %+v, %v", len(got), n, err)
				}
			})
		}
	}
}

// TestEveryFrameIsAccounted samples, limits and overruns the ring.
func TestEveryFrameIsAccounted(t *testing.T) {
	b := udpFrame(1000, 100)
	for _, c := range []struct {
		name    string
		options Options
		frames  uint32
		check   func(Counts) bool
	}{
		{"one of 10", Options{Sample: 10}, 1000, func(n Counts) bool { return n.Taken == 100 && n.Skipped == 900 }},
		{"limit", Options{Limit: 1000}, 5000, func(n Counts) bool { return n.Limited > 4000 && n.Taken >= 10 }},
		{"small ring", Options{Ring: 1 << 16}, 5000, func(n Counts) bool { return n.Lost > 3000 && n.Taken > 500 }},
		{"small ring, full", Options{Mode: Full, Ring: 1 << 16}, 2000, func(n Counts) bool { return n.Lost > 1000 && n.Taken > 100 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := loaded(t, c.options)
			if _, err := i.objects.Driver.Run(&ebpf.RunOptions{Data: b, Repeat: c.frames}); err != nil {
				t.Fatal(err)
			}
			n, err := i.Counts()
			if err != nil || n.Seen != uint64(c.frames) || n.Matched != n.Skipped+n.Limited+n.Lost+n.Taken || !c.check(n) {
				t.Errorf("%+v, %v", n, err)
			}
			if got := len(i.drained()); uint64(got) != n.Taken {
				t.Errorf("%d records of %d taken", got, n.Taken)
			}
		})
	}
}

func TestCount(t *testing.T) {
	i := loaded(t, Options{Mode: Count, Flows: 2})
	arp := append([]byte{255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1, 8, 6}, make([]byte, 46)...)
	i.each(t, Driver, udpFrame(1000, 4), udpFrame(1000, 400), tcpFrame(0), arp, udpFrame(2000, 1472))
	n, err := i.Counts()
	want := [7]uint64{2, 1, 0, 1, 0, 1, 0}
	if err != nil || n.Sizes != want || n.Taken != 3 || n.Lost != 1 {
		t.Errorf("%+v, %v, want sizes %v", n, err, want)
	}
	flows, err := i.Flows()
	if err != nil || len(flows) != 2 {
		t.Fatal(flows, err)
	}
	var text []string
	for _, f := range Largest(flows, 9) {
		text = append(text, fmt.Sprintf("%s %d %d", f, f.Frames, f.Bytes))
	}
	if got := strings.Join(text, "; "); got != "udp 10.0.0.1:1000 > 10.0.0.2:53 2 488; tcp [2020:2020:2020:2020:2020:2020:2020:2020]:40000 > [2020:2020:2020:2020:2020:2020:2020:2020]:80 vlan 100 1 90" {
		t.Error(got)
	}
	protocols, err := i.Protocols()
	if err != nil || protocols[17].Frames != 3 || protocols[6].Frames != 1 || protocols[NotIP] != (Volume{1, 60}) {
		t.Errorf("%v, %v", protocols, err)
	}
}

// TestBeside inspects a link on which real traffic runs, in both places and
// directions, and has tcpdump count the same packets.
func TestBeside(t *testing.T) {
	tcpdump := testnet.NeedTool(t, "tcpdump")
	for _, c := range []struct {
		name    string
		options Options
		want    uint64
	}{
		{"driver", Options{Place: Driver, Filter: "udp dst port 9999"}, 500},
		{"stack", Options{Place: Stack, Filter: "udp dst port 9999"}, 500},
		{"stack, sent", Options{Direction: Out, Filter: "udp src port 9999"}, 500},
		{"both ways, full", Options{Mode: Full, Direction: Both, Filter: "udp port 9999"}, 1000},
		{"count", Options{Mode: Count, Direction: Both, Filter: "udp port 9999"}, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := testnet.NewPair(t, testnet.LinkOptions{})
			i := attach(t, l.B, c.options)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var dump bytes.Buffer
			judge := exec.CommandContext(ctx, tcpdump, "--version")
			_ = l.B.Namespace.Do(func() error {
				judge = exec.CommandContext(ctx, tcpdump, "-n", "-i", l.B.Interface, "-c", fmt.Sprint(c.want), "-Q", map[Direction]string{"": "in", Out: "out", Both: "inout"}[c.options.Direction], c.options.Filter)
				judge.Stdout = &dump
				return judge.Start()
			})
			time.Sleep(500 * time.Millisecond) // until tcpdump listens
			records := make(chan int, 1)
			go func() {
				n := 0
				if c.options.Mode != Count {
					_ = i.Records(ctx, func(r *Record) {
						if len(r.Data) < 42 || c.options.Mode == Full && len(r.Data) != r.Length {
							t.Errorf("%d of %d bytes", len(r.Data), r.Length)
						}
						n++
					})
				}
				records <- n
			}()
			echo(t, l, 500)
			if err := judge.Wait(); err != nil {
				t.Errorf("tcpdump saw %d packets: %v", strings.Count(dump.String(), "\n"), err)
			}
			stop()
			n, err := i.Counts()
			if got := <-records; err != nil || n.Matched != c.want || n.Taken != c.want || c.options.Mode != Count && uint64(got) != c.want {
				t.Errorf("%s: %d records, %+v, %v", i.Where, got, n, err)
			}
		})
	}
}

func attach(t *testing.T, e testnet.End, o Options) (i *Inspector) {
	t.Helper()
	if err := e.Namespace.Do(func() (err error) { i, err = Attach(e.Interface, o); return err }); err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() { i.Close() })
	return i
}

// echo exchanges n datagrams with an echo server at l.B, which must see all.
func echo(t *testing.T, l *testnet.Link, n int) {
	t.Helper()
	server, err := l.B.Namespace.ListenPacket(t.Context(), "udp", ":9999")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		b := make([]byte, 2000)
		for {
			k, from, err := server.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = server.WriteTo(b[:k], from) // a lost answer fails the test
		}
	}()
	c, err := l.A.Namespace.DialContext(t.Context(), "udp", net.JoinHostPort(l.B.IPv4.Addr().String(), "9999"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := make([]byte, 1200)
	for k := range n {
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Read(b); err != nil || got != len(b) {
			t.Fatalf("datagram %d: %d, %v", k, got, err)
		}
	}
}

// TestDeathDetaches kills a process that inspects: nothing may stay behind.
func TestDeathDetaches(t *testing.T) {
	if name := os.Getenv("INSPECT_AND_WAIT"); name != "" {
		if _, err := Attach(name, Options{Place: Driver}); err != nil {
			t.Fatal(err)
		}
		fmt.Println("attached")
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent, should that die first
		return
	}
	l := testnet.NewPair(t, testnet.LinkOptions{})
	var child *exec.Cmd
	err := l.B.Namespace.Do(func() error {
		child = exec.CommandContext(t.Context(), os.Args[0], "-test.run=TestDeathDetaches")
		child.Env = append(os.Environ(), "INSPECT_AND_WAIT="+l.B.Interface)
		out, err := child.StdoutPipe()
		if err != nil {
			return err
		}
		if _, err := child.StdinPipe(); err != nil {
			return err
		}
		if err := child.Start(); err != nil {
			return err
		}
		_, err = out.Read(make([]byte, 16))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	again := func() error {
		return l.B.Namespace.Do(func() error {
			p, err := port.OpenXDP(l.B.Interface, port.XDPOptions{})
			if err == nil {
				p.Close()
			}
			return err
		})
	}
	if err := again(); err == nil {
		t.Fatal("the child attached nothing")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	for deadline := time.Now().Add(3 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if err := again(); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	echo(t, l, 3)
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{
		{Mode: "half"}, {Place: "wire"}, {Direction: "up"}, {Place: Driver, Direction: Both}, {Headers: 5}, {Headers: 1000}, {Snap: 1 << 20},
		{Sample: -1}, {Limit: -1}, {Ring: 100_000}, {Flows: -1}, {Filter: "port"},
	} {
		if err := o.Check(); err == nil {
			t.Errorf("%+v passed", o)
		}
	}
}

// TestTable mixes flows that look alike: each frame must land in its own.
func TestTable(t *testing.T) {
	table := NewTable(4)
	tunnel := udpFrame(1000, 100) // VXLAN: the inner flow counts
	binary.BigEndian.PutUint16(tunnel[36:], 4789)
	copy(tunnel[42:], append([]byte{8, 0, 0, 0, 0, 0, 1, 0}, udpFrame(77, 30)...))
	fragment := udpFrame(1000, 10)
	fragment[21] = 5
	at := time.Unix(100, 0)
	for range 3 {
		for _, b := range [][]byte{udpFrame(1000, 10), udpFrame(1000, 20), udpFrame(2000, 10), tcpFrame(3), tunnel, tunnel, fragment, {0, 1, 2}} {
			at = at.Add(time.Second)
			table.Add(&Record{At: at, Data: b[:min(len(b), 100)], Length: len(b), Segments: 1})
		}
	}
	var got []string
	for _, f := range Largest(table.Flows(), 9) {
		got = append(got, fmt.Sprintf("%s %d", f, f.Frames))
	}
	want := []string{"udp 10.0.0.1:77 > 10.0.0.2:53 6", "udp 10.0.0.1:1000 > 10.0.0.2:53 6",
		"tcp [2020:2020:2020:2020:2020:2020:2020:2020]:40000 > [2020:2020:2020:2020:2020:2020:2020:2020]:80 vlan 100 3", "udp 10.0.0.1:2000 > 10.0.0.2:53 3"}
	if !slices.Equal(got, want) || table.Rest.Frames != 3 || table.NoIP.Frames != 3 {
		t.Errorf("%q, rest %+v, no IP %+v", got, table.Rest, table.NoIP)
	}
}
