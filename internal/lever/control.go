package lever

import (
	"net"
	"net/netip"
)

// interfaceOf returns the interface that has the address.
func interfaceOf(a netip.Addr) (string, bool) {
	ifs, err := net.Interfaces()
	if err != nil {
		return "", false
	}
	for _, i := range ifs {
		addrs, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, x := range addrs {
			if p, err := netip.ParsePrefix(x.String()); err == nil && p.Addr().Unmap() == a {
				return i.Name, true
			}
		}
	}
	return "", false
}
