// Package fastpath forwards packets beside the Linux stack and never against
// it: the administrator's rules, NAT, routes and neighbours decide, and XDP
// programs repeat what the stack was seen to do with a flow.
//
// Three things make a flow fast. Conntrack says that a connection is
// established and what NAT makes of its addresses (learner). The stack forwards
// one of its packets in each direction, which a program at the way out sees and
// notes: interface, MAC addresses, MTU (bpf/observe.h). And neither rules nor
// routes nor neighbours have changed since (follower): each change starts a new
// generation, in which the stack decides on every flow again. Even without
// a change it decides again every few seconds, which also keeps the entries of
// conntrack and of the neighbours alive.
//
// Where nothing filters at all, the routing table decides for each packet.
package fastpath

import (
	"cmp"
	"time"
)

// Options of a fast path.
type Options struct {
	Interfaces []string
	Flows      int           // connections held, rounded up to a power of two; 0: 65,536, or what 1/64 of the memory holds
	Recheck    time.Duration // after which the stack decides again; 0: 5 s
	Lease      time.Duration // for which forwarding goes on beside the stack when the follower is gone; 0: 30 s
	Dir        string        // of a bpffs where programs and tables are pinned; empty: Dir() of this namespace
}

func (o Options) orDefault() Options {
	o.Recheck, o.Lease = cmp.Or(o.Recheck, 5*time.Second), cmp.Or(o.Lease, 30*time.Second)
	return o
}

// Reason is why packets were forwarded, or left to the stack.
type Reason struct {
	Name    string
	Help    string
	Packets uint64
}

// reasonTexts are in the order of enum reason in bpf/flow.h.
func reasonTexts() []Reason {
	return []Reason{
		{Name: "forwarded", Help: "by a flow"},
		{Name: "routed", Help: "by the routing table, nothing filters"},
		{Name: "off", Help: "nobody follows the rules: start 'linerate forward up' again"},
		{Name: "not-ours", Help: "for another MAC address: broadcast, multicast, promiscuous"},
		{Name: "not-ip", Help: "neither IPv4 nor IPv6"},
		{Name: "malformed", Help: "lengths or header checksum are wrong"},
		{Name: "options", Help: "IPv4 options or IPv6 extension headers"},
		{Name: "fragment", Help: "a fragment"},
		{Name: "ttl", Help: "the time to live ends here"},
		{Name: "protocol", Help: "neither TCP nor UDP"},
		{Name: "address", Help: "an address that is not routed"},
		{Name: "unknown", Help: "no established connection: the stack decides"},
		{Name: "control", Help: "SYN, FIN or RST"},
		{Name: "closing", Help: "the connection ends"},
		{Name: "undecided", Help: "the stack has not decided under the present rules"},
		{Name: "recheck", Help: "the stack decides once more"},
		{Name: "mangled", Help: "rules change more of it than addresses and ports"},
		{Name: "interface", Help: "it came in elsewhere than before"},
		{Name: "too-big", Help: "larger than the MTU: the stack cuts it or says so"},
		{Name: "route", Help: "no way out that the fast path can take"},
		{Name: "neighbour", Help: "the next hop is not resolved"},
	}
}
