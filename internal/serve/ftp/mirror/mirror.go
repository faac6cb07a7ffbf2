// Package mirror moves files and trees between an FTP server and this machine:
// over several connections, trying again where that may help, resuming where
// it broke off, and checking what arrived.
//
// A download appears under its name once it is whole; until then it is kept
// under a partial name, to be resumed. Whatever names a server sends, nothing
// is written outside the target directory.
package mirror

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/serve/ftp/data"
)

// Options of a job. The zero value moves one file at a time and gives up at
// the first failure.
type Options struct {
	Streams int  // connections at a time; 0 means 1
	Retries int  // further tries for each file
	Resume  bool // go on with partial files of earlier jobs, and leave whole ones alone
	Verify  bool // compare hashes where the server can, sizes otherwise
	Times   bool // keep modification times
	Data    data.Options
	Tally   *Tally       // is added to for who watches; nil where nobody does
	Log     *slog.Logger // nil means silence
}

// Tally counts a job while it runs. Moved is what went over the wire, repeats
// included; Present is what needed no moving.
type Tally struct {
	Files, FilesDone, Skipped     atomic.Int64
	Size, Moved, Present, Retries atomic.Int64 // Size is of the files known so far, in bytes
	Verified                      atomic.Int64 // files whose hash was compared
}

// job is Options with every field set.
type job struct {
	Options
	cfg client.Config
}

func newJob(cfg client.Config, o Options) *job {
	o.Streams = max(o.Streams, 1)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Tally == nil {
		o.Tally = &Tally{}
	}
	o.Data.Moved = &o.Tally.Moved
	return &job{o, cfg}
}

// The pause before another try doubles from pauseFirst to pauseMost.
const (
	pauseFirst = 500 * time.Millisecond
	pauseMost  = 30 * time.Second
)

// worker owns one connection to the server, made when it is needed and made
// anew when it broke.
type worker struct {
	*job
	conn *client.Conn
}

// try runs f, and runs it again while that may help. f is told how often it
// failed before.
func (w *worker) try(ctx context.Context, f func(c *client.Conn, failed int) error) error {
	for failed := 0; ; failed++ {
		err := w.once(ctx, failed, f)
		if err == nil || ctx.Err() != nil || failed >= w.Retries || !client.Temporary(err) {
			return err
		}
		pause := min(pauseFirst<<min(failed, 10), pauseMost)
		pause += rand.N(pause / 2) // so that many clients don't come back at once
		w.Log.Warn("trying again", "error", err, "in", pause.Round(time.Millisecond))
		w.Tally.Retries.Add(1)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

func (w *worker) once(ctx context.Context, failed int, f func(*client.Conn, int) error) error {
	if w.conn == nil {
		c, err := client.Dial(ctx, w.cfg)
		if err != nil {
			return err
		}
		w.conn = c
	}
	err := f(w.conn, failed)
	if err != nil && client.Temporary(err) {
		w.close()
	}
	return err
}

func (w *worker) close() {
	if w.conn != nil {
		_ = w.conn.Close()
		w.conn = nil
	}
}

// errGiveUp ends a job whose other workers failed.
var errGiveUp = errors.New("another transfer failed")

// parallel has Streams workers take tasks until find returns. The first error
// ends the job; find gets a worker of its own.
func parallel[T any](ctx context.Context, j *job, find func(context.Context, *worker, func(T) error) error, do func(context.Context, *worker, T) error) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var first error
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil && first == nil {
			first = err
			giveUp(fmt.Errorf("%w: %w", errGiveUp, err))
		}
	}
	tasks := make(chan T)
	for range j.Streams {
		wg.Go(func() {
			w := &worker{job: j}
			defer w.close()
			for t := range tasks {
				if ctx.Err() == nil {
					fail(do(ctx, w, t))
				}
			}
		})
	}
	finder := &worker{job: j}
	defer finder.close()
	fail(find(ctx, finder, func(t T) error {
		select {
		case tasks <- t:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}))
	close(tasks)
	wg.Wait()
	return first
}
