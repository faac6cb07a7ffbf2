//go:build !386 && !arm && !mips && !mipsle

package netstack

import (
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/seqnum"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// ackDelay is how long an acknowledgement is held at most. RFC 1122 4.2.3.2
// allows 500 ms; Linux begins at 40.
const ackDelay = 40 * time.Millisecond

// delayer holds acknowledgements back, which gVisor sends for each batch it
// receives: an acknowledgement that only moves on replaces the held one until
// enough segments are covered. Anything else, such as a duplicate or one with
// SACK blocks, goes out at once and takes the held one's place.
type delayer struct {
	bytes seqnum.Size               // covered by one acknowledgement
	late  func(*stack.PacketBuffer) // sends what was held long enough

	mu    sync.Mutex
	flows map[flow]*heldAck
}

type flow struct {
	local, remote         tcpip.Address
	localPort, remotePort uint16
}

type heldAck struct {
	packet *stack.PacketBuffer // nil: none is held
	sent   seqnum.Value        // the newest acknowledgement sent
	timer  *time.Timer
}

func newDelayer(bytes int, late func(*stack.PacketBuffer)) *delayer {
	return &delayer{bytes: seqnum.Size(bytes), late: late, flows: map[flow]*heldAck{}}
}

// pass returns the packets that go out now.
func (d *delayer) pass(packets []*stack.PacketBuffer) []*stack.PacketBuffer {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := packets[:0:0]
	for _, p := range packets {
		if !d.hold(p) {
			now = append(now, p)
		}
	}
	return now
}

// hold reports whether p is kept for later.
func (d *delayer) hold(p *stack.PacketBuffer) bool {
	if p.TransportProtocolNumber != header.TCPProtocolNumber {
		return false
	}
	t := header.TCP(p.TransportHeader().Slice())
	if len(t) < header.TCPMinimumSize {
		return false
	}
	key := flow{p.EgressRoute.LocalAddress, p.EgressRoute.RemoteAddress, t.SourcePort(), t.DestinationPort()}
	h := d.flows[key]
	if t.Flags()&(header.TCPFlagFin|header.TCPFlagRst) != 0 {
		if h != nil {
			h.drop()
			delete(d.flows, key)
		}
		return false
	}
	if h == nil {
		h = &heldAck{sent: seqnum.Value(t.AckNumber())}
		d.flows[key] = h
		return false
	}
	if !h.moves(t, p.Data().Size(), d.bytes) {
		h.drop()
		h.sent = seqnum.Value(t.AckNumber())
		return false
	}
	if h.packet != nil {
		h.packet.DecRef()
	} else {
		h.timer = time.AfterFunc(ackDelay, func() { d.release(h) })
	}
	h.packet = p.IncRef()
	return true
}

// moves reports whether the segment does nothing but acknowledge more, and
// less than what one acknowledgement covers.
func (h *heldAck) moves(t header.TCP, payload int, most seqnum.Size) bool {
	const timestamps = 12 // bytes of options; more are SACK blocks
	ack := seqnum.Value(t.AckNumber())
	return t.Flags() == header.TCPFlagAck && payload == 0 && int(t.DataOffset()) <= header.TCPMinimumSize+timestamps &&
		h.sent.LessThan(ack) && h.sent.Size(ack) < most
}

// release sends what was held long enough.
func (d *delayer) release(h *heldAck) {
	d.mu.Lock()
	p := h.packet
	h.packet = nil
	if p != nil {
		h.sent = seqnum.Value(header.TCP(p.TransportHeader().Slice()).AckNumber())
	}
	d.mu.Unlock()
	if p != nil {
		d.late(p)
		p.DecRef()
	}
}

// drop forgets what is held: something newer says the same and more.
func (h *heldAck) drop() {
	if h.packet != nil {
		h.timer.Stop()
		h.packet.DecRef()
		h.packet = nil
	}
}
