package fastpath

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// groups are what the stack's decisions rest on and tells changes of.
func groups() map[int][]uint32 {
	return map[int][]uint32{
		unix.NETLINK_ROUTE: {unix.RTNLGRP_LINK, unix.RTNLGRP_NEIGH, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR, unix.RTNLGRP_IPV4_ROUTE,
			unix.RTNLGRP_IPV6_ROUTE, unix.RTNLGRP_IPV4_RULE, unix.RTNLGRP_IPV6_RULE, unix.RTNLGRP_IPV4_NETCONF, unix.RTNLGRP_IPV6_NETCONF},
		unix.NETLINK_NETFILTER: {unix.NFNLGRP_NFTABLES},
		unix.NETLINK_XFRM:      {policyGroup},
	}
}

// policyGroup is XFRMNLGRP_POLICY.
const policyGroup = 4

// follower starts a new generation whenever something changes that the
// stack's decisions rest on.
type follower struct {
	path       *Path
	log        *slog.Logger
	watches    map[int]*netlink.Conn
	rules      *ruleset
	learner    *learner
	neighbours map[string]string // known address -> MAC address
	links      map[string]string // index -> what decisions rest on
}

// Follow keeps the fast path true to the stack until ctx ends; then, or when
// this process dies, it goes on for the lease and leaves everything to the stack
// after it. It must be called in the thread, and so in the namespace, that Up
// was.
func (p *Path) Follow(ctx context.Context, log *slog.Logger) error {
	f := &follower{path: p, log: log, watches: map[int]*netlink.Conn{}, neighbours: map[string]string{}, links: map[string]string{}}
	err := f.open()
	if err == nil {
		err = f.run(ctx)
	}
	if err = errors.Join(err, f.close()); err != nil {
		return fmt.Errorf("fastpath: follow: %w", err)
	}
	return nil
}

func (f *follower) open() (err error) {
	for protocol, groups := range groups() {
		c, err := netlink.Dial(protocol, nil)
		if errors.Is(err, unix.EPROTONOSUPPORT) && protocol == unix.NETLINK_XFRM {
			continue // a kernel without IPsec has no policies
		}
		if err != nil {
			return err
		}
		f.watches[protocol] = c
		for _, g := range groups {
			if err := c.JoinGroup(g); err != nil {
				return fmt.Errorf("watch group %d of netlink %d: %w", g, protocol, err)
			}
		}
	}
	if f.rules, err = openRuleset(); err != nil {
		return err
	}
	if err := f.survey(); err != nil {
		return err
	}
	f.learner, err = newLearner(f.path.table, f.log)
	return err
}

func (f *follower) close() error {
	var errs []error
	for _, c := range f.watches {
		errs = append(errs, c.Close())
	}
	if f.rules != nil {
		errs = append(errs, f.rules.close())
	}
	if f.learner != nil {
		errs = append(errs, f.learner.close())
	}
	return errors.Join(errs...)
}

func (f *follower) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var done sync.WaitGroup
	defer done.Wait()
	for protocol, c := range f.watches {
		done.Go(func() { cancel(f.watch(ctx, protocol, c)) })
	}
	if err := f.decide(); err != nil {
		cancel(err)
		return err
	}
	done.Go(func() { cancel(f.learner.run(ctx)) })
	// What sends no events is looked at: the tables of iptables.
	tick := time.NewTicker(min(f.path.opt.Lease/3, time.Second))
	defer tick.Stop()
	for {
		f.path.extend(f.path.opt.Lease)
		select {
		case <-ctx.Done():
			for _, c := range f.watches {
				_ = c.SetReadDeadline(time.Unix(1, 0)) // wakes its reader
			}
			if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		case <-tick.C:
			if f.rules.legacyChanged() {
				f.changed("iptables")
			}
		}
	}
}

// watch calls what changes by its name.
func (f *follower) watch(ctx context.Context, protocol int, c *netlink.Conn) error {
	for {
		messages, err := c.Receive()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.ENOBUFS): // messages were lost: anything may have changed
			f.changed("much")
			continue
		case err != nil:
			return err
		}
		for _, m := range messages {
			if what := f.matters(protocol, m); what != "" {
				f.changed(what)
				break // one generation for all of them
			}
		}
	}
}

// matters names what a message says has changed, "" where decisions stay.
func (f *follower) matters(protocol int, m netlink.Message) string {
	switch protocol {
	case unix.NETLINK_NETFILTER:
		return "rules"
	case unix.NETLINK_XFRM:
		return "IPsec policies"
	}
	switch m.Header.Type {
	case unix.RTM_NEWNEIGH, unix.RTM_DELNEIGH:
		if !f.neighbourMoved(m) {
			return ""
		}
		return "a neighbour"
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		if !f.linkChanged(m) {
			return ""
		}
		for _, name := range f.path.opt.Interfaces {
			if _, err := f.path.note(name); err != nil {
				f.log.Warn("interface", "name", name, "err", err)
			}
		}
		return "a link"
	}
	return "routes or addresses"
}

// changed starts a new generation at once, and then finds out whether the
// routing table may decide alone.
func (f *follower) changed(what string) {
	atomic.StoreUint32(&f.path.config.Router, 0)
	f.path.Renew()
	f.log.Debug("changed: the stack decides again", "what", what)
	if err := f.decide(); err != nil {
		f.log.Warn("rules can't be read; every packet is the stack's to decide", "err", err)
	}
}

// decide lets the routing table decide alone where nothing else could.
func (f *follower) decide() error {
	filters, err := f.rules.filters()
	if err != nil || filters {
		return err
	}
	reverse, err := strictReverse(f.path.opt.Interfaces)
	if err != nil {
		return err
	}
	atomic.StoreUint32(&f.path.config.Reverse, reverse)
	atomic.StoreUint32(&f.path.config.Router, 1)
	return nil
}
