package gateway

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec"
)

// route brings the device up with the MTU that the paths leave, and has the
// routes to what the rules protect lead into it. The routes go with the device.
func (g *Gateway) route(ways []ipsec.Way) error {
	g.routing.Lock()
	defer g.routing.Unlock()
	link, err := netlink.LinkByName(g.device.name)
	if err != nil {
		return fmt.Errorf("ipsec: %s: %w", g.device.name, err)
	}
	// Without an address of its own there, the stack asks for no routers.
	_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+g.device.name+"/addr_gen_mode", []byte("1"), 0)
	mtu := g.db.Room()
	if mtu == 0 {
		mtu = link.Attrs().MTU
	}
	if err := errors.Join(netlink.LinkSetMTU(link, mtu), netlink.LinkSetUp(link)); err != nil {
		return fmt.Errorf("ipsec: %s: %w", g.device.name, err)
	}
	g.mu.Lock()
	g.mtu = mtu
	g.mu.Unlock()
	if g.o.NoRoutes {
		return nil
	}
	ours, err := addresses(link.Attrs().Index)
	if err != nil {
		return fmt.Errorf("ipsec: addresses: %w", err)
	}
	want := map[string]netlink.Route{}
	for _, w := range ways {
		if covers(w) && g.o.Underlay == "" {
			return fmt.Errorf("ipsec: %v: %w", w.Remote, errRound)
		}
		r := routeTo(link.Attrs().Index, w, ours)
		want[r.Dst.String()] = r
	}
	for _, r := range want {
		if err := netlink.RouteReplace(&r); err != nil {
			return fmt.Errorf("ipsec: route to %v: %w", r.Dst, err)
		}
	}
	for old := range g.routes {
		if _, ok := want[old]; ok {
			continue
		}
		_, dst, err := net.ParseCIDR(old)
		if err != nil {
			continue
		}
		if err := netlink.RouteDel(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: dst}); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("ipsec: route to %v: %w", dst, err)
		}
	}
	g.routes = map[string]bool{}
	for dst := range want {
		g.routes[dst] = true
	}
	return nil
}

func routeTo(index int, w ipsec.Way, ours []netip.Addr) netlink.Route {
	to := w.Remote
	switch {
	case to.IsValid():
	case w.Transport:
		to = netip.PrefixFrom(w.Peer, w.Peer.BitLen())
	case w.Peer.Is4():
		to = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	default:
		to = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	r := netlink.Route{LinkIndex: index, Dst: &net.IPNet{IP: to.Masked().Addr().AsSlice(), Mask: net.CIDRMask(to.Bits(), to.Addr().BitLen())}, Scope: netlink.SCOPE_LINK}
	if to.Addr().Is6() {
		r.Scope = netlink.SCOPE_UNIVERSE
	}
	if a := source(w, ours); a.IsValid() && a.Is4() == to.Addr().Is4() {
		r.Src = a.AsSlice()
	}
	return r
}

// addresses lists ours, but for those of the device.
func addresses(device int) (all []netip.Addr, err error) {
	list, err := netlink.AddrList(nil, netlink.FAMILY_ALL)
	for _, a := range list {
		if ip, ok := netip.AddrFromSlice(a.IP); ok && a.LinkIndex != device && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() {
			all = append(all, ip.Unmap())
		}
	}
	return all, err
}

// covers reports whether what is routed into the device includes the peer that
// protected packets go to: they would go round.
func covers(w ipsec.Way) bool {
	return !w.Remote.IsValid() || w.Remote.Contains(w.Peer)
}

var errRound = errors.New("the rule's remote contains the peer, whose packets would go round: name the interface they leave by with --underlay")

// source is what a route names as the source of our own packets: an address of
// ours on the rule's local side.
func source(w ipsec.Way, ours []netip.Addr) netip.Addr {
	if w.Transport {
		return w.From
	}
	for _, a := range ours {
		if w.Local.IsValid() && w.Local.Contains(a) {
			return a
		}
	}
	return netip.Addr{}
}
