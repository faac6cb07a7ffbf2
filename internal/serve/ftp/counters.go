package ftp

import (
	"context"
	"sync"

	"github.com/linerate/linerate/result"
)

// The reasons of ftp_refused_total.
const (
	refusedDraining = "draining"
	refusedSessions = "sessions"
	refusedAddress  = "address"
	refusedUser     = "user"
	refusedStray    = "stray-data"
)

// counters are what the server counts. Transfers are booked under Server.mu
// as well, so that a reading sees each one's bytes exactly once.
type counters struct {
	mu        sync.Mutex
	logins    map[string]int64
	refusals  map[string]int64
	transfers map[[2]string]int64 // direction, outcome
	bytes     map[string]int64    // direction
}

func count[K comparable](m *map[K]int64, key K, n int64) {
	if *m == nil {
		*m = map[K]int64{}
	}
	(*m)[key] += n
}

func outcome(ok bool, yes, no string) string {
	if ok {
		return yes
	}
	return no
}

func (c *counters) refused(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count(&c.refusals, reason, 1)
}

func (c *counters) login(ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count(&c.logins, outcome(ok, "accepted", "refused"), 1)
}

func (c *counters) transfer(t *transfer, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count(&c.transfers, [2]string{t.direction(), outcome(ok, "completed", "failed")}, 1)
	count(&c.bytes, t.direction(), t.moved.Load())
}

// Name implements run.Meter.
func (s *Server) Name() string { return "ftp" }

// Read returns what the server has counted, transfers under way included; it
// implements run.Meter.
func (s *Server) Read(context.Context) ([]result.Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	vs := []result.Value{result.FTPSessions.Of(float64(len(s.sessions)))}
	moving := map[string]int64{}
	for x := range s.sessions {
		x.mu.Lock()
		if x.busy != nil {
			moving[x.busy.direction()] += x.busy.moved.Load()
		}
		x.mu.Unlock()
	}
	c := &s.counters
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range []string{"accepted", "refused"} {
		vs = append(vs, result.FTPLogins.Of(float64(c.logins[o]), "outcome", o))
	}
	for _, d := range []string{"get", "put", "list"} {
		for _, o := range []string{"completed", "failed"} {
			vs = append(vs, result.FTPTransfers.Of(float64(c.transfers[[2]string{d, o}]), "direction", d, "outcome", o))
		}
		vs = append(vs, result.FTPBytes.Of(float64(c.bytes[d]+moving[d]), "direction", d))
	}
	for _, r := range []string{refusedAddress, refusedDraining, refusedSessions, refusedStray, refusedUser} {
		vs = append(vs, result.FTPRefused.Of(float64(c.refusals[r]), "reason", r))
	}
	return vs, nil
}
