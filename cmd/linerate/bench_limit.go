package main

import (
	"net"

	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/result"
)

// line is what payload travels over, for the bound of each message size.
type line struct {
	rate float64 // bit/s; 0: not known
	mtu  int
	ipv6 bool
}

// lineTo returns the line towards target; rate is what the user said, or "".
func lineTo(target, rate string) (line, error) {
	local, ifname := localInterface(withPort(target, 1))
	l := line{mtu: 1500, ipv6: local != nil && local.To4() == nil}
	if r, mtu, ok := lineOf(ifname); ok {
		l.rate, l.mtu = r, mtu
	} else if i, err := net.InterfaceByName(ifname); err == nil {
		l.mtu = i.MTU
	}
	if rate == "" {
		return l, nil
	}
	r, err := result.ParseRate(rate)
	if err != nil {
		return l, usagef("--line: %v", err)
	}
	l.rate = r
	return l, nil
}

// limit returns the greatest goodput of test t, 0 where it is not known. TCP
// without Nagle's algorithm sends each message in frames of its own, like UDP;
// with it, messages fill the frames.
func (l line) limit(t stream.Test) float64 {
	udp := t.Protocol == stream.UDP
	s := frame.Stack{IPv6: l.ipv6, UDP: udp, Timestamps: !udp}
	if l.rate == 0 || t.Transactions() {
		return 0
	}
	if !udp && !t.Socket.NoDelay {
		return s.Goodput(l.rate, l.mtu)
	}
	full := l.mtu - s.Headers()
	if full <= 0 {
		return 0
	}
	// The last frame of a message is shorter. An IP fragment has room for a UDP
	// header less; that is left out.
	wire := t.Message / full * frame.OnWire(l.mtu+frame.HeaderBytes)
	if rest := t.Message % full; rest > 0 {
		wire += frame.OnWire(rest + s.Headers() + frame.HeaderBytes)
	}
	return l.rate * float64(t.Message) / float64(wire)
}
