package gateway

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/wire/frame"
)

// hop is where the stack would send packets to an address.
type hop struct {
	lane *lane // nil: by the stack itself
	mtu  int
	head [frame.HeaderBytes]byte // Ethernet header but for the type
	ask  atomic.Bool             // the next packet goes by the stack, so that it asks whether the neighbour is there
}

// hops follows routes and neighbours of the addresses that packets go to.
type hops struct {
	lanes  map[int]*lane // by interface index
	wanted chan netip.Addr
	mu     sync.Mutex
	known  atomic.Pointer[map[frame.Addr]*hop]
}

const (
	maxHops = 4096
	// recheck is how often the stack gets a packet to see to the neighbour.
	recheck = 5 * time.Second
	// settle is how long events are gathered before addresses are looked up anew.
	settle = 20 * time.Millisecond
)

func newHops(lanes map[int]*lane) *hops {
	h := &hops{lanes: lanes, wanted: make(chan netip.Addr, 256)}
	h.known.Store(&map[frame.Addr]*hop{})
	return h
}

// find returns the way to the packet's destination; nil means that the stack
// knows it, and that it is being looked up.
func (h *hops) find(packet []byte) *hop {
	a := target(packet)
	p := (*h.known.Load())[a]
	if p == nil {
		select {
		case h.wanted <- a.Netip().Unmap():
		default:
		}
		return nil
	}
	if p.lane == nil || len(packet) > p.mtu || p.ask.Load() && p.ask.CompareAndSwap(true, false) {
		return nil
	}
	return p
}

func target(b []byte) frame.Addr {
	if b[0]>>4 == 4 {
		return frame.AddrFrom4(binary.BigEndian.Uint32(b[16:]))
	}
	return frame.Addr{Hi: binary.BigEndian.Uint64(b[24:]), Lo: binary.BigEndian.Uint64(b[32:])}
}

// follow looks addresses up when they are wanted, and again when the stack says
// that something changed, until ctx ends.
func (h *hops) follow(ctx context.Context) error {
	done := make(chan struct{})
	defer close(done)
	routes, neighbours, links := make(chan netlink.RouteUpdate, 64), make(chan netlink.NeighUpdate, 64), make(chan netlink.LinkUpdate, 64)
	if err := netlink.RouteSubscribe(routes, done); err != nil {
		return err
	}
	if err := netlink.NeighSubscribe(neighbours, done); err != nil {
		return err
	}
	if err := netlink.LinkSubscribe(links, done); err != nil {
		return err
	}
	again := time.NewTimer(recheck)
	defer again.Stop()
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case a := <-h.wanted:
			h.add(a)
		case <-routes:
			again.Reset(settle)
		case <-neighbours:
			again.Reset(settle)
		case <-links:
			again.Reset(settle)
		case <-again.C:
			h.renew(false)
		case <-tick.C:
			h.renew(true)
		}
	}
}

func (h *hops) add(a netip.Addr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := *h.known.Load()
	key := frame.AddrFrom(a)
	if old[key] != nil {
		return
	}
	next := make(map[frame.Addr]*hop, len(old)+1)
	if len(old) < maxHops { // else begin anew: what is in use comes back at once
		for k, v := range old {
			next[k] = v
		}
	}
	next[key] = h.look(a)
	h.known.Store(&next)
}

func (h *hops) renew(ask bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := map[frame.Addr]*hop{}
	for k := range *h.known.Load() {
		p := h.look(k.Netip().Unmap())
		p.ask.Store(ask)
		next[k] = p
	}
	h.known.Store(&next)
}

// look asks the stack; what it does not know is its own business.
func (h *hops) look(a netip.Addr) *hop {
	p := &hop{}
	routes, err := netlink.RouteGet(a.AsSlice())
	if err != nil || len(routes) != 1 || routes[0].Type != unix.RTN_UNICAST || len(routes[0].MultiPath) > 0 {
		return p
	}
	l := h.lanes[routes[0].LinkIndex]
	if l == nil {
		return p
	}
	via := net.IP(a.AsSlice())
	if gw := routes[0].Gw; gw != nil {
		via = gw
	} else if routes[0].Via != nil {
		return p
	}
	family := netlink.FAMILY_V4
	if via.To4() == nil {
		family = netlink.FAMILY_V6
	}
	neighbours, err := netlink.NeighList(routes[0].LinkIndex, family)
	if err != nil {
		return p
	}
	const usable = netlink.NUD_PERMANENT | netlink.NUD_NOARP | netlink.NUD_REACHABLE | netlink.NUD_STALE | netlink.NUD_DELAY | netlink.NUD_PROBE
	for _, n := range neighbours {
		if n.IP.Equal(via) && n.State&usable != 0 && len(n.HardwareAddr) == 6 {
			copy(p.head[:], n.HardwareAddr)
			copy(p.head[6:], l.mac)
			p.lane, p.mtu = l, l.mtu
			if m := routes[0].MTU; m > 0 {
				p.mtu = min(p.mtu, m)
			}
		}
	}
	return p
}
