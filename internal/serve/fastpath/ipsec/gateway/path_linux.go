package gateway

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec"
	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/sa"
	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/segment"
)

// slots is how many packets a batch of the way out holds: two super-packets of
// small segments.
const slots = 256

// outbound seals what the stack sends into the device, until ctx ends.
func (g *Gateway) outbound(ctx context.Context) error {
	w := g.db.Worker()
	b := segment.NewBatch(slots, sa.Headroom, maxPacket, sa.Tailroom)
	pending := false // a super-packet that found no room
	var h segment.Header
	var packet []byte
	for ctx.Err() == nil {
		b.Reset()
		for {
			if !pending {
				var ok bool
				var err error
				if h, packet, ok, err = g.device.read(); err != nil {
					return err
				} else if !ok {
					break
				}
			}
			ok, err := segment.Split(h, packet, b)
			if err != nil {
				g.count.malformed.Add(1)
			}
			if pending = !ok; pending {
				break
			}
			if len(b.Packets) >= batch {
				break
			}
		}
		if len(b.Packets) == 0 {
			if _, err := g.device.wait(); err != nil {
				return fmt.Errorf("ipsec: poll %s: %w", g.device.name, err)
			}
			continue
		}
		g.seal(w, b)
		g.dispatch(b.Packets)
	}
	return nil
}

// seal leaves in the batch what is to be sent.
func (g *Gateway) seal(w *ipsec.Worker, b *segment.Batch) {
	w.Begin()
	defer w.End()
	n := 0
	for i := range b.Packets {
		p := &b.Packets[i]
		from, to, why := w.Out(p.Buffer, p.At, p.End)
		if why != sa.OK {
			continue
		}
		p.At, p.End = from, to
		b.Packets[n], b.Packets[i] = b.Packets[i], b.Packets[n]
		n++
	}
	b.Packets = b.Packets[:n]
}

// dispatch sends packets by the way each needs, runs of a kind at once.
func (g *Gateway) dispatch(packets []segment.Packet) {
	for len(packets) > 0 {
		kind := kindOf(packets[0].Bytes())
		n := 1
		for n < len(packets) && kindOf(packets[n].Bytes()) == kind {
			n++
		}
		o := g.way(kind)
		if o == nil {
			g.count.unsent.Add(uint64(n))
		} else if err := o.send(packets[:n]); err != nil {
			g.count.unsent.Add(uint64(n))
			g.complain(fmt.Errorf("send: %w", err))
		} else {
			g.count.out.Add(uint64(n))
		}
		packets = packets[n:]
	}
}

// kind is which socket a packet goes by: family, protocol, port.
type kind struct {
	six      bool
	protocol uint8
	port     uint16
}

func kindOf(b []byte) kind {
	k := kind{six: b[0]>>4 == 6}
	at := ipv6Bytes
	if k.six {
		k.protocol = b[6]
	} else {
		k.protocol, at = b[9], int(b[0]&15)*4
	}
	switch k.protocol {
	case unix.IPPROTO_UDP:
		k.port = uint16(b[at])<<8 | uint16(b[at+1])
	case unix.IPPROTO_AH:
	default: // ESP, in transport mode behind extension headers of IPv6 too
		k.protocol = unix.IPPROTO_ESP
	}
	return k
}

// inbound opens what comes by one socket, until ctx ends.
func (g *Gateway) inbound(ctx context.Context, o outer, port uint16) error {
	w := g.db.Worker()
	b := segment.NewBatch(2*maxSegments, sa.Headroom, maxPacket, sa.Tailroom)
	m := &segment.Merger{}
	for ctx.Err() == nil {
		if err := o.receive(b); err != nil {
			if passing(err) {
				continue
			}
			return fmt.Errorf("ipsec: receive: %w", err)
		}
		if len(b.Packets) == 0 {
			continue
		}
		m.Reset()
		opened := uint64(0)
		w.Begin()
		for i := range b.Packets {
			p := &b.Packets[i]
			from, to, why := w.In(p.Buffer, p.At, p.End, port)
			if why == sa.OK {
				m.Add(p.Buffer[from:to])
				opened++
			}
		}
		w.End()
		g.deliver(m.Groups(), opened)
	}
	return nil
}

// deliver gives super-packets to the stack.
func (g *Gateway) deliver(groups []segment.Group, packets uint64) {
	g.writing.Lock()
	defer g.writing.Unlock()
	for i := range groups {
		ok, err := g.device.write(&groups[i])
		if err != nil {
			g.complain(err)
		}
		if !ok {
			g.count.refused.Add(1)
		}
	}
	g.count.in.Add(packets)
	g.count.super.Add(uint64(len(groups)))
}

// passing reports whether an error is one that ICMP messages leave on a socket.
func passing(err error) bool {
	for _, e := range []error{unix.ECONNREFUSED, unix.EHOSTUNREACH, unix.ENETUNREACH, unix.EMSGSIZE, unix.EPROTO, unix.ENOPROTOOPT} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
