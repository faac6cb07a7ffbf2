//go:build amd64 || arm64

package netstack

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/result"
)

var rounds = flag.Int("rounds", 5, "rounds of each endpoint, in turns; the medians are shown")

// BenchmarkBesideFdbased moves one stream both ways between Linux and the stack,
// on the software card and on gVisor's own endpoint of the same kind of link, in
// turns. It measures once, whatever b.N is.
func BenchmarkBesideFdbased(b *testing.B) {
	ours := newEndpoint(b, setting{ring: 2048})
	card := contender(ours)
	all := []struct {
		name string
		contender
	}{{"software card", card}, {"fdbased", fdbasedEndpoint(b)}}
	rates := map[string][]float64{}
	for range *rounds {
		for _, c := range all {
			for _, way := range []string{"get", "put"} {
				rates[c.name+way] = append(rates[c.name+way], c.measure(b, way))
			}
		}
	}
	fmt.Printf("\none stream, veth without offloads, medians of %d rounds in turns, MB/s (min-max)\n", *rounds)
	for _, way := range []string{"get", "put"} {
		x, y := result.Summarize(rates[all[0].name+way]), result.Summarize(rates[all[1].name+way])
		word := "reached"
		if x.Median < 1.5*y.Median {
			word = "MISSED "
		}
		fmt.Printf("%s  software card %.0f (%.0f-%.0f)  fdbased %.0f (%.0f-%.0f)  %s %.2f >= 1.5\n", way,
			x.Median/1e6, x.Min/1e6, x.Max/1e6, y.Median/1e6, y.Min/1e6, y.Max/1e6, word, x.Median/y.Median)
	}
	b.ReportMetric(0, "ns/op") // the table is the result
}

// contender is a stack and its peer.
type contender struct {
	*Stack
	addr netip.Addr
	peer testnet.End
}

// fdbasedEndpoint is gVisor's stack with the same settings on its own endpoint.
func fdbasedEndpoint(b *testing.B) contender {
	b.Helper()
	link := testnet.NewPair(b, testnet.LinkOptions{Offload: testnet.OffloadNone})
	var fd int
	err := link.A.Namespace.Do(func() error {
		ifi, err := net.InterfaceByName(link.A.Interface)
		if err != nil {
			return err
		}
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		all := binary.NativeEndian.Uint16([]byte{unix.ETH_P_ALL >> 8, unix.ETH_P_ALL & 255})
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: ifi.Index})
	})
	if err != nil {
		b.Fatal(err)
	}
	ep, err := fdbased.New(&fdbased.Options{FDs: []int{fd}, MTU: 1500, EthernetHeader: true, Address: randomAddress(), PacketDispatchMode: fdbased.RecvMMsg})
	if err != nil {
		b.Fatal(err)
	}
	s := &Stack{knobs: Knobs{MTU: 1500}, net: stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})}
	if err := s.tune(); err != nil {
		b.Fatal(err)
	}
	addr := link.A.IPv4.Addr().Next().Next().Next()
	p := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: tcpip.AddressWithPrefix{Address: address(addr), PrefixLen: link.A.IPv4.Bits()}}
	if err := s.net.CreateNIC(card, ep); err != nil {
		b.Fatal(err)
	}
	if err := s.net.AddProtocolAddress(card, p, stack.AddressProperties{}); err != nil {
		b.Fatal(err)
	}
	s.net.SetRouteTable([]tcpip.Route{{Destination: p.AddressWithPrefix.Subnet(), NIC: card}})
	b.Cleanup(func() {
		s.net.Destroy()
		unix.Close(fd)
	})
	return contender{s, addr, link.B}
}

// measure returns the bytes per second of one connection.
func (c contender) measure(b *testing.B, way string) float64 {
	const warm, watch = 300 * time.Millisecond, time.Second
	l, err := c.Listen(b.Context(), "tcp", netip.AddrPortFrom(c.addr, 0).String())
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		s, err := l.Accept()
		if err != nil {
			return
		}
		defer s.Close()
		if way == "put" {
			io.Copy(io.Discard, s)
			return
		}
		for block := make([]byte, 256<<10); err == nil; _, err = s.Write(block) {
		}
	}()
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
	defer cancel()
	conn, err := c.peer.Namespace.DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	var moved atomic.Int64
	move := conn.Read
	if way == "put" {
		move = conn.Write
	}
	go func() {
		for block := make([]byte, 256<<10); ; {
			n, err := move(block)
			moved.Add(int64(n))
			if err != nil {
				return
			}
		}
	}()
	time.Sleep(warm)
	before, at := moved.Load(), time.Now()
	time.Sleep(watch)
	return float64(moved.Load()-before) / time.Since(at).Seconds()
}
