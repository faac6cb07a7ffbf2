package main

import (
	"io/fs"
	"net"
	"path"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/result"
)

// localInterface returns the address and the interface that packets to a
// server leave by; no packet is sent to find out.
func localInterface(server string) (local net.IP, ifname string) {
	c, err := net.Dial("udp", server)
	if err != nil {
		return nil, ""
	}
	defer c.Close()
	local = c.LocalAddr().(*net.UDPAddr).IP
	interfaces, err := net.Interfaces()
	if err != nil {
		return local, ""
	}
	for _, i := range interfaces {
		addrs, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(local) {
				return local, i.Name
			}
		}
	}
	return local, ""
}

// lineLimit returns the greatest goodput of TCP that the interface's speed and
// MTU allow, where they are known.
func lineLimit(ifname string, local net.IP) []result.Value {
	rate, mtu, ok := lineOf(ifname)
	if !ok {
		return nil
	}
	stack := frame.Stack{IPv6: local.To4() == nil, Timestamps: true}
	return []result.Value{result.LineLimit.Of(stack.Goodput(rate, mtu))}
}

// lineOf returns the speed of an interface in bit/s and its MTU. Loopback and
// virtual links have none: their speed is made up.
func lineOf(ifname string) (rate float64, mtu int, ok bool) {
	h, err := host.Live()
	if err != nil || ifname == "" {
		return 0, 0, false
	}
	dir := path.Join("sys/class/net", ifname)
	if _, err := fs.Stat(h, path.Join(dir, "device")); err != nil {
		return 0, 0, false
	}
	speed, ok1 := readNumber(h, path.Join(dir, "speed")) // Mbit/s
	mtu, ok2 := readNumber(h, path.Join(dir, "mtu"))
	return float64(speed) * 1e6, mtu, ok1 && ok2 && speed > 0 && mtu > 0
}

func readNumber(h host.Host, name string) (int, bool) {
	b, err := fs.ReadFile(h, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	return n, err == nil
}
