package ipsec

import (
	"context"
	"net/netip"
	"time"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/sa"
)

// Status is what a database has done so far.
type Status struct {
	Rules []RuleStatus         `json:"rules"`
	Drops map[sa.Reason]uint64 `json:"drops"` // what was neither sealed nor opened
}

// RuleStatus is a rule and its associations.
type RuleStatus struct {
	Name   string        `json:"name"`
	Action string        `json:"action"`
	Local  netip.Prefix  `json:"local"`
	Remote netip.Prefix  `json:"remote"`
	Out    *Association  `json:"out,omitempty"`
	In     []Association `json:"in,omitempty"`
}

// Association is one association's parameters, without keys, and counters.
type Association struct {
	SPI      uint32     `json:"spi"`
	Protocol string     `json:"protocol"`
	Mode     string     `json:"mode"`
	Suite    string     `json:"suite"`
	Source   netip.Addr `json:"source"`
	Target   netip.Addr `json:"target"`
	Room     int        `json:"room"` // longest packet that fits the path
	sa.Status
}

// Status reads rules and counters.
func (d *Database) Status(context.Context) Status {
	d.mu.RLock()
	defer d.mu.RUnlock()
	s := Status{Drops: map[sa.Reason]uint64{}}
	for _, r := range d.now.rules {
		rs := RuleStatus{Name: r.Name, Action: r.Action, Local: r.Local, Remote: r.Remote}
		if r.out != nil {
			a := associationOf(r.out)
			rs.Out = &a
		}
		for _, b := range r.in {
			rs.In = append(rs.In, associationOf(b))
		}
		s.Rules = append(s.Rules, rs)
	}
	for r := range d.drops {
		if n := d.drops[r].Load(); n > 0 {
			s.Drops[sa.Reason(r)] = n
		}
	}
	return s
}

func associationOf(b *bound) Association {
	p := b.Parameters()
	return Association{p.SPI, p.Protocol, p.Mode, p.Suite, p.Source, p.Target, b.Room(), b.Status()}
}

// Way is what a gateway must know of a rule to route its packets.
type Way struct {
	Local, Remote netip.Prefix
	From, Peer    netip.Addr // of the outer header
	Transport     bool
	Port          uint16 // ours for ESP in UDP, 0 without
	PeerPort      uint16
	Packets       uint64 // sent so far
	Room          int    // longest packet that fits the path once protected
}

// Ways lists the rules that protect.
func (d *Database) Ways() (all []Way) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, r := range d.now.rules {
		if r.Action != Protect || r.out == nil {
			continue
		}
		p := r.out.Parameters()
		all = append(all, Way{Local: r.Local, Remote: r.Remote, From: p.Source, Peer: p.Target, Transport: p.Mode == sa.Transport,
			Port: p.Encap.Source, PeerPort: p.Encap.Target, Packets: r.out.Status().Packets, Room: r.out.Room()})
	}
	return all
}

// Room returns the longest packet that fits all paths once protected, 0 without
// any.
func (d *Database) Room() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	least := 0
	for _, r := range d.now.rules {
		if r.out != nil && (least == 0 || r.out.Room() < least) {
			least = r.out.Room()
		}
	}
	return least
}

// Narrow notes that the path of packets to an address with an SPI takes no
// longer ones than mtu; it reports whether that is news.
func (d *Database) Narrow(spi uint32, to netip.Addr, mtu int, now time.Time) (news bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, r := range d.now.rules {
		if r.out == nil {
			continue
		}
		if p := r.out.Parameters(); p.SPI == spi && p.Target == to {
			news = r.out.Narrow(mtu, now) || news
		}
	}
	return news
}
