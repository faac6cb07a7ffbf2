package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	measure "github.com/linerate/linerate/internal/run"
	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/internal/serve/ftp/mirror"
	"github.com/linerate/linerate/result"
)

// jobFlags are what get and put have in common.
type jobFlags struct {
	*ftpFlags
	recursive, resume, verify, noTimes, quiet bool
	capture                                   bool
	streams, retries                          int
	limit                                     string
}

func addJob(cmd *cobra.Command) *jobFlags {
	o := &jobFlags{ftpFlags: addFTP(cmd)}
	f := cmd.Flags()
	f.BoolVarP(&o.recursive, "recursive", "r", false, "transfer a directory and all below it")
	f.BoolVarP(&o.resume, "continue", "c", false, "go on where an earlier transfer stopped; leave whole files alone")
	f.BoolVar(&o.verify, "verify", false, "compare hashes where the server has HASH, XSHA256, XMD5 or XCRC; sizes are always compared")
	f.BoolVar(&o.noTimes, "no-times", false, "don't keep modification times")
	f.BoolVar(&o.capture, "capture", false, captureHelp)
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but errors")
	f.IntVarP(&o.streams, "streams", "P", 1, "transfer `N` files at a time, each over its own connection (with -r)")
	f.IntVar(&o.retries, "retries", 3, "try each file up to `N` more times, after growing pauses")
	f.StringVar(&o.limit, "limit", "", "hold the rate below `RATE`, such as 100Mbit/s")
	return o
}

func (o *jobFlags) options(c cli) (mirror.Options, error) {
	if o.streams < 1 || o.streams > 256 || o.retries < 0 {
		return mirror.Options{}, usagef("--streams wants 1 to 256, --retries 0 or more")
	}
	m := mirror.Options{Streams: o.streams, Retries: o.retries, Resume: o.resume, Verify: o.verify, Times: !o.noTimes,
		Tally: &mirror.Tally{}, Log: o.logger(c)}
	if o.limit != "" {
		rate, err := result.ParseRate(o.limit)
		if err != nil || rate < 8 {
			return m, usagef("--limit %s: want a rate such as 100Mbit/s", o.limit)
		}
		m.Data.Limit = data.NewLimiter(int64(rate / 8))
	}
	return m, nil
}

// job is a transfer as a workload: measure.Record makes a Result of it, also of one
// that is interrupted.
type job struct {
	kind  string // "ftp.retr", "ftp.stor"
	where client.Location
	tally *mirror.Tally
	do    func(context.Context) error
}

func (j *job) Name() string { return j.kind }

func (j *job) Spec() result.Workload {
	return result.Workload{Kind: j.kind, Params: map[string]string{"url": j.where.String()}}
}

func (j *job) Run(ctx context.Context) error { return j.do(ctx) }

func (j *job) Read(context.Context) ([]result.Value, error) {
	return []result.Value{
		result.Bytes.Of(float64(j.tally.Moved.Load())),
		result.FTPTransfers.Of(float64(j.tally.FilesDone.Load()), "direction", j.direction(), "outcome", "completed"),
	}, nil
}

func (j *job) direction() string {
	return map[string]string{"ftp.retr": "get", "ftp.stor": "put"}[j.kind]
}

// totals takes goodput over the whole job, dialogue included.
func (j *job) totals(r *result.Result) []result.Value {
	moved := float64(j.tally.Moved.Load())
	vs := []result.Value{result.Bytes.Of(moved)}
	if s := r.Duration.Seconds(); s > 0 {
		vs = append(vs, result.Goodput.Of(8*moved/s))
	}
	return vs
}

// runJob runs j with progress on the terminal, and shows its Result: on one
// line, or as the output flags say.
func (o *jobFlags) runJob(cmd *cobra.Command, c cli, j *job, out *output) error {
	stop := func() {}
	if !o.quiet && !o.verbose {
		stop = showProgress(c, func() work { return progressOf(j) })
	}
	var watch *beside
	if o.capture {
		var err error
		if watch, err = watchBeside(j.where.Host); err != nil {
			stop()
			return err
		}
	}
	r, err := measure.Record(cmd.Context(), j, measure.Options{Totals: j.totals, Ends: []result.End{thisEnd("client")}})
	stop()
	if watch != nil {
		watch.into(r)
	}
	if err == nil && r.Ending == result.Interrupted {
		err = fmt.Errorf("interrupted; what arrived is kept, go on with --continue: %w", context.Cause(cmd.Context()))
	}
	if out.json || out.file != "" {
		return out.deliver(c, r, err)
	}
	if err != nil {
		return err
	}
	if !o.quiet {
		fmt.Fprintln(c.err, summary(j, r.Duration))
		for _, f := range r.Findings {
			fmt.Fprintf(c.err, "%s: %s\n", f.Rule, f.Text)
		}
	}
	return out.judge(r)
}

func progressOf(j *job) work {
	t := j.tally
	w := work{label: cmp.Or(j.where.Path, j.where.Host), done: t.Moved.Load() + t.Present.Load(), total: t.Size.Load(), unit: "B"}
	if n := t.Files.Load(); n > 1 {
		w.note = fmt.Sprintf("%d of %d files", t.FilesDone.Load(), n)
	}
	return w
}

// summary is the line after a job.
func summary(j *job, took time.Duration) string {
	t := j.tally
	moved := float64(t.Moved.Load())
	parts := []string{fmt.Sprintf("%s: %s in %.2f s, %s", j.where, result.FormatSize(moved), took.Seconds(),
		result.FormatRate(8*moved/max(took.Seconds(), 1e-6)))}
	for _, p := range []struct {
		n    int64
		most int64 // not worth a word up to here
		text string
	}{
		{t.FilesDone.Load(), 1, "files"}, {t.Verified.Load(), 0, "verified by hash"},
		{t.Retries.Load(), 0, "further tries"}, {t.Skipped.Load(), 0, "left out"},
	} {
		if p.n > p.most {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.text))
		}
	}
	if n := t.Present.Load(); n > 0 {
		parts = append(parts, result.FormatSize(float64(n))+" was there already")
	}
	return strings.Join(parts, ", ")
}
