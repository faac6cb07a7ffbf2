package stream

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// A Group runs the streams of one test together at one end.
type Group struct {
	Streams []*Stream

	test  Test
	halt  atomic.Bool
	done  chan struct{}
	omit  *time.Timer
	start time.Time

	mu      sync.Mutex
	err     error
	from    time.Time // start, or the end of the omit period
	until   time.Time // when Stop was called
	omitted []Counts
	cpu     [2]time.Duration // process user and system at from, then used
}

// NewGroup makes a group of connected streams for test t; their connections are
// detached.
func NewGroup(t Test, streams []*Stream) (*Group, error) {
	g := &Group{Streams: streams, test: t, done: make(chan struct{}), omitted: make([]Counts, len(streams))}
	var messages, bytes *atomic.Int64
	if n := t.limit(); n > 0 {
		messages, bytes = new(atomic.Int64), new(atomic.Int64)
		messages.Store(n)
		bytes.Store(t.Total())
	}
	common := sync.OnceValue(func() []byte { return t.payload(t.Message) })
	for i, s := range streams {
		if s.Conn != nil {
			var err error
			if s.Conn, err = Detach(s.Conn); err != nil {
				return nil, err
			}
		}
		s.test, s.index, s.halt, s.common = t, i, &g.halt, common
		switch {
		case s.Role == Sender || s.Role == Requester:
			s.budget = messages
		case t.Direction == Receive:
			s.budget = bytes
		}
	}
	return g, nil
}

// limit returns how many messages all streams of a direction move together, 0
// for no limit.
func (t Test) limit() int64 {
	if t.Bytes > 0 {
		return (t.Bytes + int64(t.Message) - 1) / int64(t.Message)
	}
	return t.Messages
}

// Total returns how many bytes all streams of a direction move together, 0 for
// no limit.
func (t Test) Total() int64 { return t.limit() * int64(t.Message) }

// Start begins to move payload.
func (g *Group) Start() {
	keepPlaces(len(g.Streams))
	g.start = time.Now()
	g.mark()
	if g.test.Omit > 0 {
		g.omit = time.AfterFunc(g.test.Omit, g.mark)
	}
	var wg sync.WaitGroup
	for _, s := range g.Streams {
		wg.Go(func() {
			if err := s.run(g.start); err != nil {
				g.mu.Lock()
				g.err = errors.Join(g.err, err)
				g.mu.Unlock()
			}
		})
	}
	go func() {
		wg.Wait()
		keepPlaces(-len(g.Streams))
		close(g.done)
	}()
}

// mark makes now the instant from which on figures count.
func (g *Group) mark() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.until.IsZero() {
		return
	}
	g.from = time.Now()
	g.cpu[0], g.cpu[1] = ProcessCPU()
	for i, s := range g.Streams {
		g.omitted[i] = s.Counts()
	}
}

// Done is closed when every stream has ended.
func (g *Group) Done() <-chan struct{} { return g.done }

// Stop ends the streams, waits for them and returns what went wrong on them.
// Figures cover the time until its first call.
func (g *Group) Stop() error {
	g.mu.Lock()
	if g.until.IsZero() {
		g.until = time.Now()
		if g.omit != nil {
			g.omit.Stop()
		}
		user, system := ProcessCPU()
		g.cpu = [2]time.Duration{user - g.cpu[0], system - g.cpu[1]}
	}
	g.mu.Unlock()
	g.halt.Store(true)
	<-g.done
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// Counts returns the figures of stream i since the end of the omit period, and
// those within it.
func (g *Group) Counts(i int) (counted, omitted Counts) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.Streams[i].Counts().Since(g.omitted[i]), g.omitted[i]
}

// Report returns this end's figures after Stop.
func (g *Group) Report() Report {
	r := Report{Elapsed: g.until.Sub(g.from), User: g.cpu[0], System: g.cpu[1]}
	for i := range g.Streams {
		c, o := g.Counts(i)
		r.Streams, r.Omitted = append(r.Streams, c), append(r.Omitted, o)
	}
	return r
}
