package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/serve/fastpath"
	"github.com/linerate/linerate/internal/serve/fastpath/ipsec"
	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/sa"
	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/segment"
	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/steer"
	"github.com/linerate/linerate/internal/wire/frame"
)

// fast is the way past the stack: interfaces with AF_XDP sockets.
type fast struct {
	lanes  []*lane
	hops   *hops
	locals atomic.Pointer[map[frame.Addr]bool] // our outer addresses
	ports  atomic.Pointer[[]uint16]
	filter *fastpath.Filter
	mu     sync.Mutex // of set
	last   string     // what it has set
	on     atomic.Bool
}

// openFast takes the interfaces named.
func openFast(names []string) (*fast, error) {
	f := &fast{}
	f.locals.Store(&map[frame.Addr]bool{})
	f.ports.Store(&[]uint16{})
	byIndex := map[int]*lane{}
	var err error
	if f.filter, err = fastpath.OpenFilter(); err != nil {
		return nil, fmt.Errorf("ipsec: %w", err)
	}
	for _, name := range names {
		l, err := openLane(name)
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
		f.lanes = append(f.lanes, l)
		byIndex[l.index] = l
	}
	f.hops = newHops(byIndex)
	return f, nil
}

func (f *fast) close() error {
	err := f.filter.Close()
	for _, l := range f.lanes {
		err = errors.Join(err, l.close())
	}
	return err
}

// set steers what the rules protect, unless something filters: rules of the
// stack must see what they are for.
func (f *fast) set(ways []ipsec.Way) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	filters, err := f.filter.Filters()
	f.on.Store(err == nil && !filters)
	w := steer.Wanted{On: f.on.Load(), Remotes: map[netip.Prefix]uint32{}}
	locals := map[frame.Addr]bool{}
	seen := map[uint16]bool{}
	for _, way := range ways {
		if a := frame.AddrFrom(way.From); !locals[a] {
			locals[a] = true
			w.Locals = append(w.Locals, way.From)
		}
		if way.Port != 0 && !seen[way.Port] {
			seen[way.Port] = true
			w.Ports = append(w.Ports, way.Port)
		}
		if way.Remote.IsValid() && !way.Transport { // those of our own packets do not come by an interface
			if room, ok := w.Remotes[way.Remote]; !ok || uint32(way.Room) < room {
				w.Remotes[way.Remote] = uint32(way.Room)
			}
		}
	}
	now := fmt.Sprint(w) // maps print in order
	if now == f.last || err != nil {
		return err
	}
	f.last = now
	f.locals.Store(&locals)
	f.ports.Store(&w.Ports)
	for _, l := range f.lanes {
		err = errors.Join(err, l.steer.Set(w))
	}
	return err
}

// lineup is packets for one lane.
type lineup struct {
	lane   *lane
	frames []port.Frame
}

// work moves the packets of one queue, until ctx ends.
func (g *Gateway) work(ctx context.Context, l *lane, i int) error {
	w, in := g.db.Worker(), l.queues[i]
	frames := make([]port.Frame, batch)
	b := segment.NewBatch(batch, sa.Headroom, maxFrame, sa.Tailroom)
	out := make([]lineup, 0, len(g.fast.lanes))
	slow := make([]segment.Packet, 0, batch)
	m := &segment.Merger{}
	for ctx.Err() == nil {
		n, err := in.Recv(frames)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err != nil {
			return fmt.Errorf("ipsec: %w", err)
		}
		b.Reset()
		m.Reset()
		slow = slow[:0]
		for j := range out {
			out[j].frames = out[j].frames[:0]
		}
		locals, ports := *g.fast.locals.Load(), *g.fast.ports.Load()
		opened, sealed := uint64(0), uint64(0)
		w.Begin()
		for _, f := range frames[:n] {
			if len(f.Data) < frame.HeaderBytes+ipv4Bytes {
				continue
			}
			p := b.Next(len(f.Data) - frame.HeaderBytes)
			if p == nil {
				continue
			}
			copy(p.Bytes(), f.Data[frame.HeaderBytes:])
			inward := len(p.Bytes()) >= minimum(p.Bytes()) && locals[target(p.Bytes())]
			if !g.transform(w, p, inward, ports) {
				continue
			}
			hop := g.fast.hops.find(p.Bytes())
			if hop != nil && inward && !age(p.Bytes()) {
				hop = nil // the stack says so to the sender
			}
			if inward {
				opened++
			} else if hop != nil {
				sealed++
			}
			switch {
			case hop != nil:
				out = lineUp(out, hop, p)
			case inward:
				m.Add(p.Bytes())
			default:
				slow = append(slow, *p) // counted where it is sent
			}
		}
		w.End()
		for j := range out {
			g.past(ctx, &out[j], i)
		}
		if len(slow) > 0 {
			g.dispatch(slow)
		}
		if groups := m.Groups(); len(groups) > 0 {
			g.deliver(groups, 0)
		}
		g.count.in.Add(opened)
		g.count.out.Add(sealed)
	}
	return nil
}

// maxFrame is what a chunk of an AF_XDP socket holds.
const maxFrame = 4096

func minimum(b []byte) int {
	if len(b) > 0 && b[0]>>4 == 6 {
		return ipv6Bytes
	}
	return ipv4Bytes
}

// transform seals or opens a packet; false means that it goes no further, as it
// would not from the device either.
func (g *Gateway) transform(w *ipsec.Worker, p *segment.Packet, inward bool, ports []uint16) bool {
	var from, to int
	var why sa.Reason
	if inward {
		port := uint16(0)
		if b := p.Bytes(); len(ports) > 0 && len(b) > minimum(b)+4 {
			port = uint16(b[minimum(b)+2])<<8 | uint16(b[minimum(b)+3])
		}
		from, to, why = w.In(p.Buffer, p.At, p.End, port)
	} else {
		if !age(p.Bytes()) {
			return false // cannot be: the program leaves these to the stack
		}
		from, to, why = w.Out(p.Buffer, p.At, p.End)
	}
	p.At, p.End = from, to
	return why == sa.OK
}

// age takes one hop from a packet that is forwarded; false: there is none left.
func age(b []byte) bool {
	if b[0]>>4 == 6 {
		if b[7] <= 1 {
			return false
		}
		b[7]--
		return true
	}
	if b[8] <= 1 {
		return false
	}
	b[8]--
	// The sum of one's complement grows as the word shrinks (RFC 1624 eq. 3).
	s := uint32(b[10])<<8 | uint32(b[11])
	s += 0x100
	s += s >> 16
	b[10], b[11] = byte(s>>8), byte(s)
	return true
}

// lineUp puts a packet with its Ethernet header among those of its lane.
func lineUp(out []lineup, h *hop, p *segment.Packet) []lineup {
	packet := p.Bytes()
	p.At -= frame.HeaderBytes
	b := p.Bytes()
	copy(b, h.head[:])
	etherType(b, packet)
	for j := range out {
		if out[j].lane == h.lane {
			out[j].frames = append(out[j].frames, port.Frame{Data: b})
			return out
		}
	}
	return append(out, lineup{h.lane, append(make([]port.Frame, 0, batch), port.Frame{Data: b})})
}

// past sends what is lined up past the stack.
func (g *Gateway) past(ctx context.Context, o *lineup, i int) {
	if len(o.frames) == 0 {
		return
	}
	n, err := o.lane.send(ctx, i, o.frames)
	if err != nil {
		g.complain(err)
	}
	g.count.past.Add(uint64(n))
	g.count.unsent.Add(uint64(len(o.frames) - n))
}
