package testnet

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Connect joins two namespaces with a veth pair and brings both ends up. The
// pair goes with either namespace.
func Connect(a, b *Namespace, o LinkOptions) (*Link, error) {
	ordinal := max(a.links, b.links)
	name := fmt.Sprintf("eth%d", ordinal)
	a.links, b.links = ordinal+1, ordinal+1
	l := &Link{A: End{Namespace: a, Interface: name}, B: End{Namespace: b, Interface: name}}
	err := a.netlink(func(h *netlink.Handle) error {
		veth := netlink.NewVeth(netlink.NewLinkAttrs())
		veth.Name, veth.PeerName = name, name
		veth.MTU = cmp.Or(o.MTU, StandardMTU)
		veth.PeerMTU = uint32(veth.MTU)
		veth.PeerNamespace = netlink.NsFd(b.net.Fd())
		return h.LinkAdd(veth)
	})
	if err != nil {
		return nil, fmt.Errorf("testnet: veth %s of %s and %s: %w", name, a.Name, b.Name, err)
	}
	given := []EndOptions{o.A, o.B}
	for i, e := range []*End{&l.A, &l.B} {
		addr := addressOf(ordinal, i)
		if given[i].IPv4.IsValid() {
			addr.IPv4 = given[i].IPv4
		}
		if given[i].IPv6.IsValid() {
			addr.IPv6 = given[i].IPv6
		}
		if err := e.up(addr, o.Bare); err != nil {
			return nil, fmt.Errorf("testnet: %s of %s: %w", name, e.Namespace.Name, err)
		}
		if err := e.SetOffload(o.Offload); err != nil {
			return nil, err
		}
	}
	return l, errors.Join(l.A.carrier(), l.B.carrier())
}

// carrier waits until the kernel has taken note that the cable is in: what is
// sent before is lost, and sent again only a second later.
func (e End) carrier() error {
	const most = 5 * time.Second
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		state := netlink.LinkOperState(netlink.OperUnknown)
		err := e.change(func(_ *netlink.Handle, link netlink.Link) error {
			state = link.Attrs().OperState
			return nil
		})
		if err != nil || state == netlink.OperUp {
			return err
		}
		if time.Since(begin) > most {
			return fmt.Errorf("testnet: %s of %s is %s after %s", e.Interface, e.Namespace.Name, state, most)
		}
	}
}

// up gives the interface its addresses and brings it up.
func (e *End) up(addr EndOptions, bare bool) error {
	return e.Namespace.netlink(func(h *netlink.Handle) error {
		link, err := h.LinkByName(e.Interface)
		if err != nil {
			return err
		}
		e.MAC = link.Attrs().HardwareAddr.String()
		if !bare {
			e.IPv4 = addr.IPv4
			if err := h.AddrAdd(link, address(addr.IPv4)); err != nil {
				return fmt.Errorf("address %s: %w", addr.IPv4, err)
			}
			switch err := h.AddrAdd(link, address(addr.IPv6)); {
			case err == nil:
				e.IPv6 = addr.IPv6
			case !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EAFNOSUPPORT):
				return fmt.Errorf("address %s: %w", addr.IPv6, err)
			}
		}
		return h.LinkSetUp(link)
	})
}

// address is p without duplicate address detection, which would keep it from
// use for a second.
func address(p netip.Prefix) *netlink.Addr {
	a := &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}}
	if p.Addr().Is6() {
		a.Flags = unix.IFA_F_NODAD
	}
	return a
}

// SetMTU changes the MTU of one end.
func (e End) SetMTU(mtu int) error {
	return e.change(func(h *netlink.Handle, link netlink.Link) error { return h.LinkSetMTU(link, mtu) })
}

// SetUp sets the interface up or down.
func (e End) SetUp(up bool) error {
	return e.change(func(h *netlink.Handle, link netlink.Link) error {
		if up {
			return h.LinkSetUp(link)
		}
		return h.LinkSetDown(link)
	})
}

// Counters reads what one end has sent and received.
func (e End) Counters() (c Counters, err error) {
	err = e.change(func(_ *netlink.Handle, link netlink.Link) error {
		s := link.Attrs().Statistics
		c = Counters{s.TxPackets, s.TxBytes, s.RxPackets, s.RxBytes}
		return nil
	})
	return c, err
}

// change runs f on the interface in its namespace.
func (e End) change(f func(*netlink.Handle, netlink.Link) error) error {
	err := e.Namespace.netlink(func(h *netlink.Handle) error {
		link, err := h.LinkByName(e.Interface)
		if err != nil {
			return err
		}
		return f(h, link)
	})
	if err != nil {
		return fmt.Errorf("testnet: %s of %s: %w", e.Interface, e.Namespace.Name, err)
	}
	return nil
}
