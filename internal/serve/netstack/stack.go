//go:build !386 && !arm && !mips && !mipsle

// Package netstack is an endpoint with every layer in reach: gVisor's TCP/IP
// stack (IPv4, IPv6, ARP, ND, SACK, window scaling, RACK, CUBIC) on a card made
// of software. It stands for a board whose stack, transport interface, driver
// and card are tuned together.
package netstack

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"

	"github.com/linerate/linerate/internal/serve/netstack/nic"
)

// Config says what a Stack is.
type Config struct {
	Card      *nic.NIC       // the Stack runs it and closes it
	Addresses []netip.Prefix // with the length of their network
	Gateways  []netip.Addr   // of default routes, one per family
	Knobs     Knobs
}

// card is the number of the one card in gVisor's tables.
const card tcpip.NICID = 1

// Stack is a TCP/IP stack on a card.
type Stack struct {
	net    *stack.Stack
	link   *link
	knobs  Knobs
	memory memory
	addrs  []netip.Prefix
}

// New returns a Stack that answers for its addresses once it runs.
func New(c Config) (*Stack, error) {
	k, err := c.Knobs.check()
	if err != nil {
		return nil, fmt.Errorf("netstack: %w", err)
	}
	i := c.Card.Info()
	if k.Checksum && !i.Checksum || k.Segment && !i.Segment {
		return nil, fmt.Errorf("netstack: %s sums no checksums and cuts no segments: %w", i.Name, errors.ErrUnsupported)
	}
	s := &Stack{
		knobs: k, link: newLink(c.Card, k, randomAddress()), memory: memory{budget: k.Memory}, addrs: c.Addresses,
		net: stack.New(stack.Options{
			NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol, arp.NewProtocol},
			TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4, icmp.NewProtocol6},
		}),
	}
	if err := s.configure(c); err != nil {
		s.net.Destroy()
		return nil, fmt.Errorf("netstack: %w", err)
	}
	return s, nil
}

func (s *Stack) configure(c Config) error {
	if err := s.tune(); err != nil {
		return err
	}
	if err := s.net.CreateNIC(card, s.link); err != nil {
		return fmt.Errorf("card: %s", err)
	}
	var routes []tcpip.Route
	for _, p := range c.Addresses {
		a := tcpip.ProtocolAddress{Protocol: protocolOf(p.Addr()), AddressWithPrefix: tcpip.AddressWithPrefix{Address: address(p.Addr()), PrefixLen: p.Bits()}}
		if err := s.net.AddProtocolAddress(card, a, stack.AddressProperties{}); err != nil {
			return fmt.Errorf("address %s: %s", p, err)
		}
		routes = append(routes, tcpip.Route{Destination: a.AddressWithPrefix.Subnet(), NIC: card})
	}
	for _, g := range c.Gateways {
		to := header.IPv4EmptySubnet
		if g.Is6() {
			to = header.IPv6EmptySubnet
		}
		routes = append(routes, tcpip.Route{Destination: to, Gateway: address(g), NIC: card})
	}
	s.net.SetRouteTable(routes)
	return nil
}

// tune sets what the knobs say of TCP. gVisor announces half of its receive
// buffer as the window, so that a window of n takes a buffer of 2n.
func (s *Stack) tune() error {
	k := s.knobs
	sack, control := tcpip.TCPSACKEnabled(!k.NoSACK), tcpip.CongestionControlOption("cubic")
	moderate, nagle := tcpip.TCPModerateReceiveBufferOption(k.ReceiveBuffer == 0), tcpip.TCPDelayEnabled(!k.NoDelay)
	send := tcpip.TCPSendBufferSizeRangeOption{Min: 1, Default: 256 << 10, Max: most}
	if k.TransmitBuffer > 0 {
		send = tcpip.TCPSendBufferSizeRangeOption{Min: 1, Default: k.TransmitBuffer, Max: k.TransmitBuffer}
	}
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: 1, Default: 256 << 10, Max: 2 * most}
	if n := 2 * k.ReceiveBuffer; n > 0 {
		receive = tcpip.TCPReceiveBufferSizeRangeOption{Min: 1, Default: n, Max: n}
	}
	for _, o := range []tcpip.SettableTransportProtocolOption{&sack, &control, &moderate, &nagle, &send, &receive} {
		if err := s.net.SetTransportProtocolOption(tcp.ProtocolNumber, o); err != nil {
			return fmt.Errorf("TCP option %T: %s", o, err)
		}
	}
	return nil
}

// Run drives the card until ctx ends, and returns the error of its wire if one
// ended it.
func (s *Stack) Run(ctx context.Context) error { return s.link.card.Run(ctx, s.link) }

// Close ends every connection and closes the card; Run must have returned.
func (s *Stack) Close() error {
	s.net.Destroy()
	return s.link.card.Close()
}

// Card returns the card, for its counters and its trace.
func (s *Stack) Card() *nic.NIC { return s.link.card }

// Addresses returns what the stack answers for.
func (s *Stack) Addresses() []netip.Prefix { return s.addrs }

func protocolOf(a netip.Addr) tcpip.NetworkProtocolNumber {
	if a.Is4() {
		return ipv4.ProtocolNumber
	}
	return ipv6.ProtocolNumber
}

func address(a netip.Addr) tcpip.Address { return tcpip.AddrFromSlice(a.AsSlice()) }
