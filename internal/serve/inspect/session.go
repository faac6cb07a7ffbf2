package inspect

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/linerate/linerate/result"
)

// Session is an inspection as a workload: it takes what the Inspector finds,
// keeps a table of flows and hands records on.
type Session struct {
	inspector *Inspector
	options   Options
	ifname    string
	length    time.Duration // 0: until the context ends
	take      func(*Record) error

	mu    sync.Mutex
	table *Table
	err   error // of take, which is called no more then
}

// NewSession returns a session on what i is attached to. take, which may be
// nil, is given every record.
func NewSession(i *Inspector, ifname string, o Options, length time.Duration, take func(*Record) error) *Session {
	o = o.defaulted()
	return &Session{inspector: i, options: o, ifname: ifname, length: length, take: take, table: NewTable(o.Flows)}
}

// Name makes a Session a meter.
func (*Session) Name() string { return "inspect" }

// Spec is what repeats the session.
func (s *Session) Spec() result.Workload {
	o := s.options
	p := map[string]string{"interface": s.ifname, "mode": string(o.Mode), "where": s.inspector.Where, "direction": string(o.Direction)}
	if o.Filter != "" {
		p["filter"] = o.Filter
	}
	if o.Mode == Split {
		p["headers"] = strconv.Itoa(o.Headers)
	}
	if o.Sample > 1 {
		p["sample"] = "1/" + strconv.Itoa(o.Sample)
	}
	if o.Limit > 0 {
		p["limit"] = strconv.FormatFloat(o.Limit, 'g', -1, 64)
	}
	return result.Workload{Kind: "inspect", Params: p}
}

// Run inspects until its time or ctx ends, and detaches.
func (s *Session) Run(ctx context.Context) error {
	if s.length > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, s.length)
		defer stop()
	}
	if s.options.Mode == Count {
		<-ctx.Done()
		return s.inspector.Detach()
	}
	ctx, fail := context.WithCancel(ctx)
	defer fail()
	err := s.inspector.Records(ctx, func(r *Record) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.table.Add(r)
		if s.take == nil || s.err != nil {
			return
		}
		if s.err = s.take(r); s.err != nil {
			fail()
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	return err
}

// Flows returns the flows so far, in no order.
func (s *Session) Flows() ([]Flow, error) {
	if s.options.Mode == Count {
		return s.inspector.Flows()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.Flows(), nil
}

// shownFlows is how many flows a result names.
const shownFlows = 20

// Read returns the counters.
func (s *Session) Read(context.Context) ([]result.Value, error) {
	n, err := s.inspector.Counts()
	if err != nil {
		return nil, err
	}
	var vs []result.Value
	for _, c := range []struct {
		outcome string
		frames  uint64
	}{{"seen", n.Seen}, {"matched", n.Matched}, {"skipped", n.Skipped}, {"limited", n.Limited}, {"lost", n.Lost}, {"taken", n.Taken}} {
		vs = append(vs, result.InspectFrames.Of(float64(c.frames), "outcome", c.outcome))
	}
	return append(vs, result.InspectBytes.Of(float64(n.SeenBytes), "outcome", "seen"), result.InspectBytes.Of(float64(n.MatchedBytes), "outcome", "matched")), nil
}

// Totals are the figures of the whole session: the counters, and by size,
// protocol and flow.
func (s *Session) Totals() ([]result.Value, error) {
	vs, err := s.Read(context.Background())
	if err != nil {
		return nil, err
	}
	flows, err := s.Flows()
	if err != nil {
		return vs, err
	}
	if s.options.Mode == Count {
		if vs, err = s.counted(vs); err != nil {
			return vs, err
		}
	} else {
		sums := map[int]Volume{}
		for _, f := range flows {
			v := sums[int(f.Protocol)]
			v.add(f.Volume)
			sums[int(f.Protocol)] = v
		}
		vs = append(vs, protocolValues(sums)...)
	}
	vs = append(vs, result.InspectFlows.Of(float64(len(flows))))
	for _, f := range Largest(flows, shownFlows) {
		vs = append(vs, result.InspectFlow.Of(float64(f.Bytes), "flow", f.String()))
	}
	return vs, nil
}

// counted adds what the kernel counted by size and protocol.
func (s *Session) counted(vs []result.Value) ([]result.Value, error) {
	n, err := s.inspector.Counts()
	if err != nil {
		return vs, err
	}
	for i, name := range SizeNames() {
		if n.Sizes[i] > 0 {
			vs = append(vs, result.InspectSizes.Of(float64(n.Sizes[i]), "size", name))
		}
	}
	protocols, err := s.inspector.Protocols()
	return append(vs, protocolValues(protocols)...), err
}

func protocolValues(by map[int]Volume) []result.Value {
	var vs []result.Value
	for _, p := range slices.Sorted(maps.Keys(by)) {
		vs = append(vs, result.InspectProtocol.Of(float64(by[p].Bytes), "protocol", ProtocolName(p)))
	}
	return vs
}
