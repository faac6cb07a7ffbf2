package tcpinfo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"

	"github.com/linerate/linerate/result"
)

// Sockets reads connections of this process while they are open and keeps what
// they counted when they close. The zero value is ready to use, from several
// goroutines.
type Sockets struct {
	mu    sync.Mutex
	open  map[*tracked]struct{}
	ended map[string][]result.Value // by flow
}

type tracked struct {
	flow string
	conn syscall.RawConn
}

// Name returns "tcpinfo".
func (*Sockets) Name() string { return "tcpinfo" }

// Track begins to read c, a *net.TCPConn, under a flow label. Counters of one
// label add up over its connections for good, so a label is better a role
// ("data", "stream 3") than an address. Call stop before c is closed: it takes
// the last reading.
func (s *Sockets) Track(flow string, c syscall.Conn) (stop func(), err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("tcpinfo: %s: %w", flow, err)
	}
	t := &tracked{flow, raw}
	if _, err := t.read(); err != nil {
		return nil, fmt.Errorf("tcpinfo: %s: %w", flow, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open, s.ended = map[*tracked]struct{}{}, map[string][]result.Value{}
	}
	s.open[t] = struct{}{}
	return sync.OnceFunc(func() { s.end(t) }), nil
}

// end takes the last reading of t and lets go of it. A connection that its
// owner closed first leaves what earlier readings do not hold, nothing.
func (s *Sockets) end(t *tracked) {
	vs, err := t.read()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, t)
	if err == nil {
		s.ended[t.flow] = merge(s.ended[t.flow], vs)
	}
}

// Read returns the group of TCP metrics by flow: counters summed over the
// flow's connections, gauges as the latest reading had them.
func (s *Sockets) Read(context.Context) ([]result.Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	flows := map[string][]result.Value{}
	for flow, vs := range s.ended {
		flows[flow] = slices.Clone(vs)
	}
	for t := range s.open {
		vs, err := t.read()
		if errors.Is(err, net.ErrClosed) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("tcpinfo: %s: %w", t.flow, err)
		}
		flows[t.flow] = merge(flows[t.flow], vs)
	}
	var out []result.Value
	for _, flow := range slices.Sorted(maps.Keys(flows)) {
		out = append(out, flows[flow]...)
	}
	return out, nil
}

// merge adds the counters of vs to those in sum and replaces the gauges.
func merge(sum, vs []result.Value) []result.Value {
	for _, v := range vs {
		i := slices.IndexFunc(sum, func(e result.Value) bool { return e.Metric == v.Metric && maps.Equal(e.Labels, v.Labels) })
		if i < 0 {
			sum = append(sum, v)
			continue
		}
		if m, _ := result.Lookup(v.Metric); m.Kind == result.Counter {
			v.V += sum[i].V
		}
		sum[i] = v
	}
	return sum
}
