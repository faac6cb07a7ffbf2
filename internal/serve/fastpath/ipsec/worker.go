package ipsec

import (
	"slices"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/sa"
)

// cacheEntries is the length of a worker's cache, a power of two.
const cacheEntries = 1024

// Worker seals and opens packets for one goroutine.
type Worker struct {
	d       *Database
	state   *state // of the batch
	scratch sa.Scratch
	cached  *state // that the cache is of
	cache   [cacheEntries]struct {
		flow flow
		rule *rule
	}
}

// Worker makes a worker.
func (d *Database) Worker() *Worker { return &Worker{d: d} }

// Begin starts a batch: until End, associations stay as they are.
func (w *Worker) Begin() {
	w.d.mu.RLock()
	w.state = w.d.now
	if w.cached != w.state {
		w.cached = w.state
		clear(w.cache[:])
	}
}

// End ends a batch.
func (w *Worker) End() {
	w.state = nil
	w.d.mu.RUnlock()
}

// match returns the rule that decides on a flow from the local side, or nil.
func (w *Worker) match(f flow) *rule {
	e := &w.cache[f.hash()&(cacheEntries-1)]
	if e.rule == nil || e.flow != f {
		e.flow, e.rule = f, w.state.match(f)
	}
	return e.rule
}

func (s *state) match(f flow) *rule {
	for _, r := range s.rules {
		if r.local.has(f.source, f.six) && r.remote.has(f.target, f.six) && (r.protocol == 0 || r.protocol == f.protocol) &&
			(r.LocalPort == 0 || r.LocalPort == f.sourcePort) && (r.RemotePort == 0 || r.RemotePort == f.targetPort) {
			return r
		}
	}
	return nil
}

// Out protects the IP packet b[at:end] as its rule says. b[from:to] is what to
// send if the reason is OK; room around it is as sa.SA.Seal wants it.
func (w *Worker) Out(b []byte, at, end int) (from, to int, why sa.Reason) {
	f, ok := flowOf(b[at:end])
	if !ok {
		return at, end, w.drop(sa.Malformed)
	}
	r := w.match(f)
	switch {
	case r == nil:
		return at, end, w.drop(sa.NoPolicy)
	case r.Action == Pass:
		return at, end, w.drop(sa.Bypass)
	case r.Action == Discard:
		return at, end, w.drop(sa.Discarded)
	case r.out == nil:
		return at, end, w.drop(sa.NoSA)
	}
	from, to, why = r.out.Seal(&w.scratch, b, at, end)
	if why != sa.OK {
		w.drop(why)
	}
	return from, to, why
}

// In opens the packet b[at:end], ESP or AH, in UDP from or to port or not.
// b[from:to] is the packet inside, if the reason is OK.
func (w *Worker) In(b []byte, at, end int, port uint16) (from, to int, why sa.Reason) {
	l, why := sa.Locate(b, at, end, port)
	if why != sa.OK {
		return at, end, w.drop(why)
	}
	s := w.state.inbound[l.SPI]
	if s == nil {
		return at, end, w.drop(sa.NoSA)
	}
	if from, to, why = s.Open(&w.scratch, b, l); why != sa.OK {
		return from, to, w.drop(why)
	}
	// What came this way must be what its rule sends the other way (RFC 4301 5.2).
	f, ok := flowOf(b[from:to])
	if !ok || !w.match(f.reverse()).opens(s) {
		return from, to, w.drop(sa.NoPolicy)
	}
	return from, to, sa.OK
}

// opens reports whether b is an inbound association of the rule.
func (r *rule) opens(b *bound) bool { return r != nil && slices.Contains(r.in, b) }

// Room returns the longest packet that fits the path of the packet's rule, 0
// where it has none.
func (w *Worker) Room(b []byte) int {
	f, ok := flowOf(b)
	if !ok {
		return 0
	}
	if r := w.match(f); r != nil && r.out != nil {
		return r.out.Room()
	}
	return 0
}

// drop counts what is not sealed or opened.
func (w *Worker) drop(why sa.Reason) sa.Reason {
	w.d.drops[why].Add(1)
	return why
}
