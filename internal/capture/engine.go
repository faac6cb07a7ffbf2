// Package capture turns captured frames into a Result: what each TCP
// connection did, what bounded it, and how sure that is.
//
// It reads once, in file order, and keeps a few kilobytes per connection that
// carries data and a hundred-odd bytes per flow that doesn't, so that a capture
// of any size can be analysed, and a live interface watched.
//
// The method follows T-RAT (Zhang, Breslau, Paxson, Shenker, SIGCOMM 2002) and
// its successors in asking what stops the sender at each instant, and tcpanaly
// (Paxson, SIGCOMM 1997) in asking first what the capture itself got wrong.
package capture

import (
	"cmp"
	"slices"

	"github.com/linerate/linerate/internal/wire/frame"
)

// Options of an Engine.
type Options struct {
	Top    int     // connections reported, by payload; 0 means 10
	Filter *Filter // frames that count; nil takes all
	Series bool    // keep time series for plots of the largest connections
}

// Frame is one captured frame.
type Frame struct {
	Data []byte
	At   int64 // nanoseconds since 1970
	Len  int   // on the wire
	Link uint16
}

// Engine analyses frames in the order of their capture. It isn't safe for use
// by several goroutines.
type Engine struct {
	o        Options
	packet   frame.Packet
	flows    table
	active   list
	kept     []*Connection // the largest that have ended, the largest first
	timebase timebase
	plotted  int

	frames, bytes int64
	filtered      int64
	faults        map[frame.Fault]int64
	first, last   int64
	udp           map[*flow]*datagrams
	evicted       int64
	ended         int64
}

// NewEngine returns an Engine that has seen nothing.
func NewEngine(o Options) *Engine {
	if o.Top <= 0 {
		o.Top = 10
	}
	return &Engine{o: o, faults: map[frame.Fault]int64{}, udp: map[*flow]*datagrams{}}
}

// Frames returns how many frames were added.
func (e *Engine) Frames() int64 { return e.frames }

// Add takes the next frame.
func (e *Engine) Add(f *Frame) {
	e.frames++
	e.bytes += int64(f.Len)
	p := &e.packet
	t := e.timebase.adjust(f.At)
	if e.first == 0 {
		e.first = t
	}
	e.last = t
	if !e.o.Filter.Match(f) {
		e.filtered++
		return
	}
	if fault := frame.Decode(f.Link, f.Data, f.Len, p); fault.Kind != frame.None {
		e.faults[fault]++
		return
	}
	switch p.Proto {
	case frame.ProtoTCP:
		e.tcp(p, t)
	case frame.ProtoUDP:
		e.datagram(p, f, t)
	case frame.ProtoICMP, frame.ProtoICMPv6:
		e.icmp(p)
	}
}

func (e *Engine) tcp(p *frame.Packet, t int64) {
	f, side := e.flows.hit(p)
	fresh := false
	if f == nil {
		var k key
		k, side = keyOf(p)
		f, fresh = e.flows.find(&k)
	}
	if !fresh && p.Flags&frame.SYN != 0 && f.reused(p, side) {
		e.end(f)
		*f = flow{key: f.key, client: -1}
		fresh = true
	}
	if fresh {
		f.first, f.firstFrame = t, uint32(e.frames)
	} else if f.conn != nil && t-f.last > 60e9 && p.Options.HasTimestamp {
		t = e.timebase.forward(t, f.last, &f.conn.oneWay[side], p.Options.TSval, &f.syn[side])
	}
	f.last = t
	f.packets[side]++
	f.bytes[side] += uint64(max(p.Payload, 0))
	f.shake(p, side, t)
	if f.conn == nil {
		if p.Payload == 0 || p.Flags&frame.SYN != 0 {
			return
		}
		f.conn = &connection{flow: f}
		if old := e.active.add(f.conn); old != nil {
			e.evicted++
			e.end(old.flow)
		}
	} else {
		e.active.touch(f.conn)
	}
	f.conn.since = e.timebase.since
	f.conn.packet(p, side, t, uint32(e.frames))
	if e.o.Series {
		e.plot(f.conn)
	}
}

// plot gives the larger connections a time series, as long as there is room.
func (e *Engine) plot(c *connection) {
	const worth, most = 64, 16
	for _, s := range c.senders {
		if s != nil && s.series == nil && s.records == worth && e.plotted < most {
			s.series = newSeries(s.first, s.loop.minimum())
			e.plotted++
		}
	}
}

// end takes a connection out of the analysis and keeps its figures if they are
// among the largest.
func (e *Engine) end(f *flow) {
	c := f.conn
	if c == nil {
		return
	}
	e.ended++
	e.active.remove(c)
	f.conn = nil
	c.ended = e.last
	for side, d := range c.senders {
		if d == nil || d.bytes == 0 || len(e.kept) == e.o.Top && d.bytes <= e.kept[e.o.Top-1].Bytes {
			continue // no figures for what will not be shown
		}
		d.drain(c)
		e.keep(c.direction(side))
	}
}

// keep adds x to the largest.
func (e *Engine) keep(x *Connection) {
	i, _ := slices.BinarySearchFunc(e.kept, x, func(a, b *Connection) int { return cmp.Compare(b.Bytes, a.Bytes) })
	e.kept = slices.Insert(e.kept, i, x)
	e.kept = e.kept[:min(len(e.kept), e.o.Top)]
}

// icmp finds the connection whose packet a router refused to forward.
func (e *Engine) icmp(p *frame.Packet) {
	if p.ICMPMTU == 0 && !(p.Proto == frame.ProtoICMP && p.ICMPType == 3 && p.ICMPCode == 4) {
		return
	}
	var quoted frame.Packet
	if frame.Decode(frame.LinkRaw, p.Data, len(p.Data), &quoted); quoted.SrcPort == 0 {
		return
	}
	k, _ := keyOf(&quoted)
	if f, _ := e.flows.find(&k); f.conn != nil {
		f.conn.tooBig++
	}
}
