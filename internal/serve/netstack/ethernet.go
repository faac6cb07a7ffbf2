//go:build !386 && !arm && !mips && !mipsle

package netstack

import (
	"crypto/rand"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// What gVisor asks of an Ethernet link endpoint beyond moving packets.

func (l *link) MTU() uint32                           { return uint32(l.knobs.MTU) }
func (*link) SetMTU(uint32)                           {} // Knobs.MTU is set once
func (*link) MaxHeaderLength() uint16                 { return header.EthernetMinimumSize }
func (l *link) LinkAddress() tcpip.LinkAddress        { return l.address }
func (*link) SetLinkAddress(tcpip.LinkAddress)        {} // as the MTU
func (*link) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareEther }
func (*link) Wait()                                   {} // Stack.Run waits
func (*link) Close()                                  {} // Stack.Close closes the card
func (*link) SetOnCloseAction(func())                 {}

func (l *link) AddHeader(p *stack.PacketBuffer) {
	header.Ethernet(p.LinkHeader().Push(header.EthernetMinimumSize)).Encode(&header.EthernetFields{
		SrcAddr: l.address, DstAddr: p.EgressRoute.RemoteLinkAddress, Type: p.NetworkProtocolNumber,
	})
}

func (*link) ParseHeader(p *stack.PacketBuffer) bool {
	_, ok := p.LinkHeader().Consume(header.EthernetMinimumSize)
	return ok
}

// randomAddress returns a locally administered unicast MAC address.
func randomAddress() tcpip.LinkAddress {
	b := make([]byte, 6)
	rand.Read(b)
	b[0] = b[0]&^1 | 2
	return tcpip.LinkAddress(b)
}
