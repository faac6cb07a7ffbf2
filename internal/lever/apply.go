package lever

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/linerate/linerate/result"
)

// Apply moves l to want: journal first, then set, then read back. The Change
// tells what was done, also beside an error. Where the value reads back other
// than asked, the error wraps ErrUnchanged (it did not move at all) or names
// what the kernel made of it; the change stays in the journal either way.
func (j *Journal) Apply(ctx context.Context, l Lever, want, why string) (result.Change, error) {
	before, err := l.Get(ctx)
	if err != nil {
		return result.Change{Lever: l.ID()}, err
	}
	c := result.Change{Lever: l.ID(), Before: before, After: want, At: time.Now(), Why: why}
	if Same(before, want) {
		return c, nil
	}
	if err := j.write(record{Kind: "intent", N: j.n + 1, Change: &c}); err != nil {
		return c, err
	}
	j.n++
	if err := l.Set(ctx, want); err != nil {
		return c, err
	}
	got, err := l.Get(ctx)
	if err != nil {
		return c, fmt.Errorf("read back: %w", err)
	}
	if err := j.write(record{Kind: "done", N: j.n, Read: got}); err != nil {
		return c, err
	}
	switch {
	case Same(got, want):
		return c, nil
	case Same(got, before):
		return c, fmt.Errorf("%s: set %q, still %q: %w", c.Lever, want, got, ErrUnchanged)
	}
	c.After = got
	return c, fmt.Errorf("%s: set %q, reads back %q", c.Lever, want, got)
}

// Outcome is what rollback did with one change.
type Outcome struct {
	result.Change
	Left string // value found, where somebody else changed it since: not touched
	Err  error  // why it could not be put back
}

// Rollback undoes the changes of h that are still open, last first, and writes
// each into j. find turns a lever's ID into the lever. It goes on past a
// change that fails; the error then wraps ErrNotBack. Calling it again is safe.
func (j *Journal) Rollback(ctx context.Context, h History, find func(id string) (Lever, error)) ([]Outcome, error) {
	var out []Outcome
	failed := 0
	for i := len(h.Steps) - 1; i >= 0; i-- {
		if !h.Steps[i].open() {
			continue
		}
		o := j.back(ctx, h, i, find)
		if o.Err != nil {
			failed++
		}
		out = append(out, o)
	}
	if failed > 0 {
		return out, fmt.Errorf("%d of %d changes: %w", failed, len(out), ErrNotBack)
	}
	return out, nil
}

// Back undoes the latest change that is still open, as Rollback does with all.
// It returns false where there is none.
func (j *Journal) Back(ctx context.Context, find func(id string) (Lever, error)) (Outcome, bool, error) {
	h, err := read(j.path)
	if err != nil {
		return Outcome{}, false, err
	}
	for i := len(h.Steps) - 1; i >= 0; i-- {
		if h.Steps[i].open() {
			o := j.back(ctx, h, i, find)
			if o.Err != nil {
				return o, true, fmt.Errorf("%s: %w: %w", o.Lever, ErrNotBack, o.Err)
			}
			return o, true, nil
		}
	}
	return Outcome{}, false, nil
}

// back undoes step i of h and writes so.
func (j *Journal) back(ctx context.Context, h History, i int, find func(id string) (Lever, error)) Outcome {
	o := Outcome{Change: h.Steps[i].Change}
	var kind string
	kind, o.Left, o.Err = undo(ctx, h.Steps[i], find)
	if o.Err == nil {
		o.Err = j.write(record{Kind: kind, N: i + 1})
	}
	o.Back = o.Err == nil && kind == "back"
	return o
}

// undo puts one change back and returns the kind of record that says so.
func undo(ctx context.Context, s Step, find func(id string) (Lever, error)) (kind, left string, err error) {
	l, err := find(s.Lever)
	if err != nil {
		return "", "", err
	}
	now, err := l.Get(ctx)
	if errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(s.Lever, "process.") {
		return "left", "ended", nil // with its program
	}
	if err != nil {
		return "", "", err
	}
	switch {
	case Same(now, s.Before):
		return "back", "", nil
	// A change that was promised but not recorded as done died between the
	// two; whatever stands there now is ours.
	case s.Set && !Same(now, s.Read):
		return "left", now, nil
	}
	if err := l.Set(ctx, s.Before); err != nil {
		return "", "", err
	}
	if now, err = l.Get(ctx); err != nil {
		return "", "", err
	}
	if !Same(now, s.Before) {
		return "", "", fmt.Errorf("%s: set back to %q, reads %q", s.Lever, s.Before, now)
	}
	return "back", "", nil
}
