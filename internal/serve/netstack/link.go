//go:build !386 && !arm && !mips && !mipsle

package netstack

import (
	"errors"
	"sync"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/stack/gro"

	"github.com/linerate/linerate/internal/serve/netstack/nic"
)

// link is the transport interface between the stack and the card, what the
// K2H report calls NIMU: the card's driver on one side, gVisor's link endpoint
// on the other.
type link struct {
	card    *nic.NIC
	knobs   Knobs
	address tcpip.LinkAddress
	acks    *delayer // nil: acknowledgements leave at once

	mu         sync.RWMutex
	dispatcher stack.NetworkDispatcher
	joined     gro.GRO // of the receive goroutine
}

func newLink(card *nic.NIC, k Knobs, address tcpip.LinkAddress) *link {
	l := &link{card: card, knobs: k, address: address}
	if k.AckEvery > 1 {
		const headers = 20 + 20 + 12 // IPv4, TCP and timestamps, of a full segment
		l.acks = newDelayer(k.AckEvery*(k.MTU-headers), func(p *stack.PacketBuffer) { l.send([]*stack.PacketBuffer{p}) })
	}
	return l
}

// outgoing is a packet of the stack on its way through the card's ring.
type outgoing struct{ *stack.PacketBuffer }

func (o outgoing) Parts() [][]byte { return o.AsSlices() }
func (o outgoing) Release()        { o.DecRef() }

// Offload says what the card does for the packet: all of it for a segment that
// is to be cut, the sum for others whose sum the stack left out.
func (o outgoing) Offload() nic.Offload {
	g := o.GSOOptions
	if g.Type == stack.GSONone {
		return o.sum()
	}
	f := nic.Offload{Sum: g.NeedsCsum, Start: header.EthernetMinimumSize + g.L3HdrLen, Field: g.CsumOffset}
	if o.PacketBuffer.Data().Size() > int(g.MSS) {
		f.Segment, f.Headers, f.IPv6 = g.MSS, uint16(o.HeaderSize()), g.Type == stack.GSOTCPv6
	}
	return f
}

// sum finds the transport header of a packet without segments. The card wants
// the sum over the pseudo-header in the field; the stack left it empty.
func (o outgoing) sum() nic.Offload {
	network, transport := o.NetworkHeader().Slice(), o.TransportHeader().Slice()
	var field int
	switch o.TransportProtocolNumber {
	case header.TCPProtocolNumber:
		field = header.TCPChecksumOffset
	case header.UDPProtocolNumber:
		field = header.UDPMinimumSize - 2
	default:
		return nic.Offload{}
	}
	if len(transport) < field+2 {
		return nic.Offload{}
	}
	source, target := o.EgressRoute.LocalAddress, o.EgressRoute.RemoteAddress
	part := header.PseudoHeaderChecksum(o.TransportProtocolNumber, source, target, uint16(len(transport)+o.PacketBuffer.Data().Size()))
	transport[field], transport[field+1] = byte(part>>8), byte(part)
	return nic.Offload{Sum: true, Start: uint16(header.EthernetMinimumSize + len(network)), Field: uint16(field)}
}

// WritePackets implements stack.LinkWriter. A packet without a descriptor is
// lost, as the driver of a full card loses it; TCP sends it again.
func (l *link) WritePackets(list stack.PacketBufferList) (int, tcpip.Error) {
	packets := list.AsSlice()
	if l.acks != nil {
		packets = l.acks.pass(packets)
	}
	if n := l.send(packets); n < len(packets) {
		return n, &tcpip.ErrNoBufferSpace{}
	}
	return list.Len(), nil
}

// send queues packets and keeps them until the card is done with them.
func (l *link) send(packets []*stack.PacketBuffer) int {
	var few [8]nic.Packet
	batch := few[:0]
	for _, p := range packets {
		batch = append(batch, outgoing{p.IncRef()})
	}
	n, err := l.card.Send(batch)
	if err != nil && !errors.Is(err, nic.ErrFull) {
		n = 0
	}
	for _, p := range packets[n:] {
		p.DecRef()
	}
	return n
}

// Receive implements nic.Driver.
func (l *link) Receive(head, body []byte, checked bool) {
	if len(head) < header.EthernetMinimumSize {
		return
	}
	data := buffer.MakeWithView(buffer.NewViewWithData(head))
	if len(body) > 0 {
		_ = data.Append(buffer.NewViewWithData(body)) // it fails for a nil view only
	}
	p := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: data})
	defer p.DecRef()
	p.NetworkProtocolNumber = header.Ethernet(head).Type()
	p.RXChecksumValidated = checked && l.knobs.Checksum
	if _, ok := p.LinkHeader().Consume(header.EthernetMinimumSize); ok {
		l.joined.Enqueue(p)
	}
}

// Flush implements nic.Driver.
func (l *link) Flush() { l.joined.Flush() }

// Attach implements stack.LinkEndpoint.
func (l *link) Attach(d stack.NetworkDispatcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dispatcher = d
	if d != nil {
		l.joined.Init(l.knobs.Segment)
		l.joined.Dispatcher = d
	}
}

// IsAttached implements stack.LinkEndpoint.
func (l *link) IsAttached() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.dispatcher != nil
}

// Capabilities implements stack.LinkEndpoint.
func (l *link) Capabilities() stack.LinkEndpointCapabilities {
	c := stack.CapabilityResolutionRequired
	if l.knobs.Checksum {
		c |= stack.CapabilityTXChecksumOffload | stack.CapabilityRXChecksumOffload
	}
	return c
}

// SupportedGSO implements stack.GSOEndpoint.
func (l *link) SupportedGSO() stack.SupportedGSO {
	if l.knobs.Segment {
		return stack.HostGSOSupported
	}
	return stack.GSONotSupported
}

// GSOMaxSize implements stack.GSOEndpoint: the headers fit beside it into the
// 16 bits of an IP length.
func (l *link) GSOMaxSize() uint32 {
	if l.knobs.Segment {
		return 65535 - 100
	}
	return 0
}
