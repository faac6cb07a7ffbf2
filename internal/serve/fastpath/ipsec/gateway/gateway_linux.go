package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec"
)

// Gateway is a gateway at work in the network namespace it was opened in.
type Gateway struct {
	o      Options
	db     *ipsec.Database
	device *device
	fast   *fast // nil: all by the stack
	icmp   []*pathMTU
	closing
	count   counters
	writing sync.Mutex // to the device
	routing sync.Mutex // of route

	mu       sync.RWMutex
	ways     map[kind]outer
	routes   map[string]bool
	complain func(error)
	failed   string // why the last rules were not taken
	mtu      int
	begin    func(outer, uint16) // starts receiving
	sent     map[string]uint64   // packets by peer at the last keep-alive
}

// Open makes the device and takes the rules.
func Open(o Options) (*Gateway, error) {
	if o.Device == "" {
		o.Device = DefaultDevice
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	db, err := ipsec.NewDatabase()
	if err != nil {
		return nil, err
	}
	g := &Gateway{o: o, db: db, ways: map[kind]outer{}, routes: map[string]bool{}, sent: map[string]uint64{}}
	g.add(db.Close)
	g.complain = sparse(o.Log)
	if g.device, err = openDevice(o.Device); err != nil {
		return nil, errors.Join(fmt.Errorf("ipsec: %w", err), g.Close())
	}
	g.add(g.device.close)
	for _, six := range []bool{false, true} {
		p, err := openPathMTU(six)
		if six && errors.Is(err, unix.EAFNOSUPPORT) {
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("ipsec: %w", err), g.Close())
		}
		g.icmp = append(g.icmp, p)
		g.add(p.close)
	}
	if len(o.XDP) > 0 {
		if g.fast, err = openFast(o.XDP); err != nil {
			return nil, errors.Join(err, g.Close())
		}
		g.add(g.fast.close)
	}
	if err := g.Replace(o.File); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// Close takes everything down and wipes the keys.
func (g *Gateway) Close() error { return g.all() }

// sparse logs errors of the data path, one a second at most.
func sparse(log *slog.Logger) func(error) {
	var mu sync.Mutex
	var last time.Time
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(last) > time.Second {
			last = now
			log.Warn("ipsec", "error", err)
		}
	}
}

// Replace takes new rules from a file, or the kernel's for "". Associations that
// stay lose nothing. On an error all is as it was.
func (g *Gateway) Replace(file string) error {
	err := func() error {
		c, err := load(file)
		if err != nil {
			return err
		}
		defer c.Wipe()
		if err := g.db.Replace(c); err != nil {
			return err
		}
		return g.sync()
	}()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed = ""; err != nil {
		g.failed = err.Error()
		return err
	}
	g.o.File = file
	return nil
}

// sync opens the sockets that the rules need, and sets MTU and routes.
func (g *Gateway) sync() error {
	ways := g.db.Ways()
	want := []kind{}
	for _, w := range ways {
		six := w.Peer.Is6()
		want = append(want, kind{six, unix.IPPROTO_ESP, 0}, kind{six, unix.IPPROTO_AH, 0})
		if w.Port != 0 {
			want = append(want, kind{six, unix.IPPROTO_UDP, w.Port})
		}
	}
	for _, k := range want {
		if g.way(k) != nil {
			continue
		}
		var o outer
		var err error
		if k.port != 0 {
			o, err = openUDP(k.six, k.port, g.o.Underlay)
			if errors.Is(err, unix.EADDRINUSE) && g.fast != nil {
				// A key exchange daemon has the port; ESP is taken before it comes there.
				o, err = openSender(k.six, g.o.Underlay)
			}
		} else {
			o, err = openRaw(k.six, int(k.protocol), g.o.Underlay)
		}
		if err != nil {
			return fmt.Errorf("ipsec: %w", err)
		}
		g.add(o.close)
		g.mu.Lock()
		g.ways[k] = o
		begin := g.begin
		g.mu.Unlock()
		if begin != nil {
			begin(o, k.port)
		}
	}
	if err := g.route(ways); err != nil || g.fast == nil {
		return err
	}
	return g.fast.set(ways)
}

func (g *Gateway) way(k kind) outer {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.ways[k]
}

// Run moves packets until ctx ends.
func (g *Gateway) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	work := func(f func() error) {
		wg.Go(func() {
			if err := f(); err != nil {
				cancel(err)
			}
		})
	}
	g.mu.Lock()
	g.begin = func(o outer, port uint16) {
		if _, only := o.(*sender); !only {
			work(func() error { return g.inbound(ctx, o, port) })
		}
	}
	for k, o := range g.ways {
		g.begin(o, k.port)
	}
	g.mu.Unlock()
	for _, p := range g.icmp {
		work(func() error { return p.listen(ctx, g.narrow) })
	}
	work(func() error { return g.outbound(ctx) })
	if g.fast != nil {
		work(func() error { return g.fast.hops.follow(ctx) })
		for _, l := range g.fast.lanes {
			for i := range l.queues {
				work(func() error { return g.work(ctx, l, i) })
			}
		}
	}
	g.tend(ctx)
	wg.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// keepAlive is the time between messages that keep a NAT's mapping (RFC 3948 4).
const keepAlive = 20 * time.Second

// watch is how soon rules of the stack that are new end the way past it.
const watch = 100 * time.Millisecond

// tend ages associations, keeps NAT mappings and looks for rules of the stack,
// until ctx ends.
func (g *Gateway) tend(ctx context.Context) {
	tick := time.NewTicker(watch)
	defer tick.Stop()
	last, aged := time.Now(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if g.fast != nil {
				if err := g.fast.set(g.db.Ways()); err != nil {
					g.complain(err)
				}
			}
			if now.Sub(aged) < time.Second {
				continue
			}
			aged = now
			g.db.Age(now)
			if room := g.db.Room(); room > 0 && room != g.room() { // a path is as wide again as it was
				g.resize()
			}
			if now.Sub(last) >= keepAlive {
				last = now
				g.keep()
			}
		}
	}
}

// narrow notes what ICMP said of a path; the device's MTU has the stack tell
// senders (RFC 4301 8.2.1).
func (g *Gateway) narrow(spi uint32, to netip.Addr, mtu int) {
	if g.db.Narrow(spi, to, mtu, time.Now()) {
		g.o.Log.Info("ipsec: the path is narrower", "peer", to, "mtu", mtu)
		g.resize()
	}
}

func (g *Gateway) resize() {
	if err := g.route(g.db.Ways()); err != nil {
		g.complain(err)
	}
}

func (g *Gateway) room() int {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.mtu
}

// keep sends a keep-alive to each peer behind NAT that has not heard of us.
func (g *Gateway) keep() {
	for _, w := range g.db.Ways() {
		if w.Port == 0 {
			continue
		}
		key := fmt.Sprint(w.Peer, w.PeerPort)
		if heard := g.sent[key] != w.Packets; heard {
			g.sent[key] = w.Packets
			continue
		}
		o, ok := g.way(kind{w.Peer.Is6(), unix.IPPROTO_UDP, w.Port}).(*datagrams)
		if !ok {
			continue
		}
		to := &net.UDPAddr{IP: w.Peer.AsSlice(), Port: int(w.PeerPort)}
		if err := o.one([]byte{0xff}, to); err != nil {
			g.complain(fmt.Errorf("keep-alive: %w", err))
			continue
		}
		g.count.keepAlives.Add(1)
	}
}

// Status reads the counters.
func (g *Gateway) Status(ctx context.Context) Status {
	c := &g.count
	s := Status{Device: g.device.name, Out: c.out.Load(), In: c.in.Load(), Super: c.super.Load(), Malformed: c.malformed.Load(), Refused: c.refused.Load(),
		Unsent: c.unsent.Load(), KeepAlives: c.keepAlives.Load(), Status: g.db.Status(ctx)}
	g.mu.RLock()
	defer g.mu.RUnlock()
	s.Error, s.MTU = g.failed, g.mtu
	if s.Source = g.o.File; s.Source == "" {
		s.Source = "kernel"
	}
	if g.fast != nil {
		s.XDP, s.PastStack, s.Past = g.o.XDP, g.fast.on.Load(), c.past.Load()
	}
	for k := range g.ways {
		if k.port != 0 {
			s.Ports = append(s.Ports, k.port)
		}
	}
	return s
}
