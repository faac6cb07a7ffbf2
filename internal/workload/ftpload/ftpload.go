// Package ftpload offers load to an FTP server, a board's too: the same
// download and upload again and again, each a trial of its own with what the
// host's meters counted meanwhile.
package ftpload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linerate/linerate/result"
)

// Direction is the way of the payload as the client sees it.
type Direction string

// The directions.
const (
	Get Direction = "get"
	Put Direction = "put"
)

// Session is a logged-in connection to the server. Get drops the payload; Put
// makes size bytes up. Both add to moved as bytes go and return once the server
// has confirmed.
type Session interface {
	Get(ctx context.Context, name string, moved *atomic.Int64) error
	Put(ctx context.Context, name string, size int64, moved *atomic.Int64) error
	Close() error
}

// Plan is what is offered.
type Plan struct {
	Directions []Direction       // measured in this order in each repeat
	GetName    string            // the file to download
	PutName    string            // the file to make; streams after the first add "-2", "-3"
	Size       int64             // bytes of one upload
	Repeats    int               // trials of each direction
	Streams    int               // sessions that transfer at the same time
	Time       time.Duration     // how long a trial transfers over and over; 0: one transfer for each stream
	Params     map[string]string // further parameters for the record
}

// Load is the workload. Its fields must not change once Run has begun.
type Load struct {
	Plan
	Dial   func(context.Context) (Session, error)
	Meters func(context.Context) []result.Value // read before and after each trial; nil reads nothing

	get, put atomic.Int64
	mu       sync.Mutex
	trials   []result.Trial
}

// Name returns "ftp".
func (l *Load) Name() string { return "ftp" }

// Spec describes the plan.
func (l *Load) Spec() result.Workload {
	p := map[string]string{"repeats": strconv.Itoa(l.Repeats), "streams": strconv.Itoa(l.Streams)}
	for _, d := range l.Directions {
		if d == Get {
			p["get"] = l.GetName
		} else {
			p["put"], p["size"] = l.PutName, strconv.FormatInt(l.Size, 10)
		}
	}
	if l.Time > 0 {
		p["time"] = l.Time.String()
	}
	for k, v := range l.Params {
		p[k] = v
	}
	return result.Workload{Kind: "ftp", Params: p}
}

// Read returns the payload moved so far, by direction.
func (l *Load) Read(context.Context) ([]result.Value, error) {
	return []result.Value{
		result.FTPBytes.Of(float64(l.get.Load()), "direction", string(Get)),
		result.FTPBytes.Of(float64(l.put.Load()), "direction", string(Put)),
	}, nil
}

// Moved returns all payload moved so far, in bytes.
func (l *Load) Moved() int64 { return l.get.Load() + l.put.Load() }

// StreamName is what stream i, from 0, uploads as.
func StreamName(name string, i int) string {
	if i == 0 {
		return name
	}
	return name + "-" + strconv.Itoa(i+1)
}

// Trials returns what was measured so far.
func (l *Load) Trials() []result.Trial {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.trials)
}

// Run measures. A direction that fails is measured no more and makes the error,
// the other one goes on.
func (l *Load) Run(ctx context.Context) error {
	begin := time.Now()
	var failed error
	given := map[Direction]bool{}
	for repeat := range l.Repeats {
		for _, d := range l.Directions {
			if given[d] {
				continue
			}
			t, err := l.trial(ctx, d)
			if ctx.Err() != nil {
				return errors.Join(context.Cause(ctx), failed)
			}
			t.Name, t.Start = l.name(), time.Since(begin)-t.Duration
			t.Params = map[string]string{"direction": string(d), "streams": strconv.Itoa(l.Streams), "repeat": strconv.Itoa(repeat + 1)}
			if err != nil {
				given[d], t.Note = true, err.Error()
				failed = errors.Join(failed, fmt.Errorf("%s: %w", d, err))
			}
			l.mu.Lock()
			l.trials = append(l.trials, t)
			l.mu.Unlock()
		}
	}
	return failed
}

// name is what the trials are called; their direction is a parameter.
func (l *Load) name() string {
	if l.Streams == 1 {
		return "1 stream"
	}
	return strconv.Itoa(l.Streams) + " streams"
}

// trial logs the streams in, has them transfer all at once, and takes what the
// meters counted from the first byte's request to the last confirmation.
func (l *Load) trial(ctx context.Context, d Direction) (result.Trial, error) {
	sessions, err := l.login(ctx)
	defer func() {
		for _, s := range sessions {
			_ = s.Close() // the server may have gone first
		}
	}()
	if err != nil {
		return result.Trial{}, err
	}
	moved := map[Direction]*atomic.Int64{Get: &l.get, Put: &l.put}[d]
	meters := l.Meters
	if meters == nil {
		meters = func(context.Context) []result.Value { return nil }
	}
	before, from, start := meters(ctx), moved.Load(), time.Now()
	errs := make([]error, len(sessions))
	var wg sync.WaitGroup
	for i, s := range sessions {
		wg.Go(func() { errs[i] = l.stream(ctx, s, d, i, moved) })
	}
	bytes, took := l.await(ctx, &wg, start, moved)
	err = errors.Join(errs...)
	values := l.values(d, float64(bytes-from), took, grown(before, meters(ctx)))
	return result.Trial{Duration: took, Values: values, Pass: err == nil}, err
}

func (l *Load) login(ctx context.Context) (sessions []Session, err error) {
	for range l.Streams {
		s, err := l.Dial(ctx)
		if err != nil {
			return sessions, err
		}
		sessions = append(sessions, s)
	}
	return sessions, nil
}

// await waits for the streams and returns what had moved when the trial's time
// was up, or when the last stream was done.
func (l *Load) await(ctx context.Context, wg *sync.WaitGroup, start time.Time, moved *atomic.Int64) (bytes int64, took time.Duration) {
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	if l.Time > 0 {
		select {
		case <-time.After(l.Time):
			bytes, took = moved.Load(), time.Since(start)
			<-done
			return bytes, took
		case <-done:
		}
	}
	<-done
	return moved.Load(), time.Since(start)
}

// stream transfers once, or until the trial's time is up.
func (l *Load) stream(ctx context.Context, s Session, d Direction, i int, moved *atomic.Int64) error {
	once := func(ctx context.Context) error {
		if d == Get {
			return s.Get(ctx, l.GetName, moved)
		}
		return s.Put(ctx, StreamName(l.PutName, i), l.Size, moved)
	}
	if l.Time <= 0 {
		return once(ctx)
	}
	timed, cancel := context.WithTimeout(ctx, l.Time)
	defer cancel()
	for {
		if err := once(timed); timed.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			return err
		}
	}
}
