package fastpath

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// learner keeps the table in step with conntrack.
type learner struct {
	table  *table
	log    *slog.Logger
	events *ctSocket
	orders *ctSocket
	ready  []Connection // TCP, to be softened before they are fast

	mu      sync.Mutex
	refused map[string]uint64 // connections left to the stack, by reason
}

const (
	// eventBuffer holds the events of some ten thousand connections, in bytes.
	eventBuffer = 16 << 20
	// together is how many connections are softened in one call.
	together = 64
	// reconcile is how often the table is compared with conntrack in any case,
	// and mend how soon after events were lost.
	reconcile = time.Minute
	mend      = 250 * time.Millisecond
)

// newLearner opens its sockets in the calling thread's namespace.
func newLearner(t *table, log *slog.Logger) (*learner, error) {
	l := &learner{table: t, log: log, refused: map[string]uint64{}}
	var err error
	if l.events, err = openCtSocket(unix.NFNLGRP_CONNTRACK_NEW, unix.NFNLGRP_CONNTRACK_UPDATE, unix.NFNLGRP_CONNTRACK_DESTROY); err != nil {
		return nil, err
	}
	if l.orders, err = openCtSocket(); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *learner) close() (err error) {
	for _, s := range []*ctSocket{l.events, l.orders} {
		if s != nil {
			err = errors.Join(err, s.close())
		}
	}
	return err
}

// run learns until ctx ends.
func (l *learner) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = l.events.conn.SetReadDeadline(time.Unix(1, 0)) })() // wakes the reader
	next := time.Now()
	for ctx.Err() == nil {
		if !time.Now().Before(next) {
			if err := l.dump(); err != nil {
				return err
			}
			next = time.Now().Add(reconcile)
			_ = l.events.conn.SetReadDeadline(next)
		}
		// What is there is taken first, and softened together.
		err := l.events.receive(false, l.hear)
		if errors.Is(err, unix.EAGAIN) {
			if err := l.soften(); err != nil {
				return err
			}
			err = l.events.receive(true, l.hear)
		}
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, errOverrun):
			if soon := time.Now().Add(mend); soon.Before(next) {
				next = soon
				_ = l.events.conn.SetReadDeadline(next)
			}
		case err != nil && !isTimeout(err):
			return err
		}
	}
	return nil
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// hear takes up what an event tells.
func (l *learner) hear(m ctMessage) error {
	if len(m.body) < nfHeader {
		return nil
	}
	t := readTracked(m.body[nfHeader:])
	switch m.kind {
	case ctDelete:
		l.table.end(t.Connection)
	case ctNew:
		l.see(&t)
		if len(l.ready) >= together {
			return l.soften()
		}
	}
	return nil
}

// dump learns what was there before, and forgets what went unseen.
func (l *learner) dump() error {
	there := map[Connection]bool{}
	if err := l.orders.dump(func(t tracked) {
		there[t.Connection] = true
		l.see(&t)
	}); err != nil {
		return err
	}
	for _, c := range l.table.connections() {
		if !there[c] {
			l.table.end(c)
		}
	}
	return l.soften()
}

// see takes up a connection that is ready, and lets go of one that no longer
// is.
func (l *learner) see(t *tracked) {
	c, why := t.Connection, t.unfit()
	switch has := l.table.has(c); {
	case why == "" && has:
	case has && t.ended():
		l.table.end(c)
	case why == notYet:
	case why != "":
		l.refuse(why)
		if has {
			l.table.end(c)
		}
	case c.Original.Protocol == tcp:
		l.ready = append(l.ready, c)
	default:
		l.add(c)
	}
}

// soften makes the TCP connections fast that are ready.
func (l *learner) soften() error {
	for len(l.ready) > 0 {
		some := l.ready[:min(together, len(l.ready))]
		l.ready = l.ready[len(some):]
		gone := map[int]bool{}
		if err := l.orders.soften(some, func(i int) { gone[i] = true }); err != nil {
			return err
		}
		for i, c := range some {
			if gone[i] {
				l.refuse(notYet)
			} else {
				l.add(c)
			}
		}
	}
	l.ready = nil
	return nil
}

func (l *learner) add(c Connection) {
	if err := l.table.add(c); err != nil {
		l.refuse(err.Error())
	}
}

func (l *learner) refuse(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused[why]++
}

// notYet is the reason of a connection that may become fit.
const notYet = "not established"

// established is TCP_CONNTRACK_ESTABLISHED.
const established = 3

// unfit says why the stack must forward a connection, "" if it need not.
func (t *tracked) unfit() string {
	switch {
	case t.zoned:
		return "in a conntrack zone"
	case t.helper != "" || t.status&statusHelper != 0:
		return "a helper reads it (" + t.helper + ")"
	case t.status&statusAdjusts != 0:
		return "its sequence numbers are changed"
	case !t.valid():
		return "neither TCP nor UDP of one family"
	case t.Original.Target.Addr().IsMulticast():
		return "multicast"
	case t.status&statusDying != 0 || t.status&statusConfirmed == 0 || t.status&statusSeenReply == 0:
		return notYet
	case t.Original.Protocol == tcp && (t.state != established || t.status&statusAssured == 0):
		return notYet
	}
	return ""
}

// ended reports whether an entry tells that its connection ends. A message
// about TCP without its state tells nothing.
func (t *tracked) ended() bool {
	return t.status&statusDying != 0 || t.state != established && t.state != stateUntold
}
