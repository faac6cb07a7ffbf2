package lever

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/linerate/linerate/result"
)

// Journal is one set of changes on disk: <dir>/<id>.journal, a JSON record a
// line. A record that promises a change is synced before the change is made.
type Journal struct {
	ID   string
	path string
	f    *os.File
	n    int // changes promised so far
}

// record is a line of the journal. Kinds: "begin" (where it happens), "intent"
// (about to set), "done" (set, and what it reads back as), "back" (undone or
// found undone), "left" (changed by someone else since), "confirmed".
type record struct {
	Kind   string         `json:"kind"`
	At     time.Time      `json:"at"`
	N      int            `json:"n,omitempty"`
	Change *result.Change `json:"change,omitempty"`
	Read   string         `json:"read,omitempty"`
	Place  *Place         `json:"place,omitempty"`
}

// Place is where changes hold: a boot of a box, and a network namespace of it.
type Place struct {
	Boot  string `json:"boot"`  // kernel's random boot ID
	Netns string `json:"netns"` // "net:[4026531840]"
}

const ending = ".journal"

// Create starts a journal in dir, which it makes if needed.
func Create(dir string, at Place) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{ID: result.NewID(time.Now())}
	j.path = filepath.Join(dir, j.ID+ending)
	var err error
	if j.f, err = os.OpenFile(j.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if err := errors.Join(share(j.f), j.write(record{Kind: "begin", Place: &at}), syncDir(dir)); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// Close closes the file; the journal stays.
func (j *Journal) Close() error { return j.f.Close() }

// Confirm says that the changes are wanted: they outlive the dead-man timer,
// and can still be rolled back by hand.
func (j *Journal) Confirm() error { return j.write(record{Kind: "confirmed"}) }

// write appends rec and syncs it to disk.
func (j *Journal) write(rec record) error {
	rec.At = time.Now()
	line, err := json.Marshal(rec)
	if err == nil {
		_, err = j.f.Write(append(line, '\n'))
	}
	if err == nil {
		err = j.f.Sync()
	}
	if err != nil {
		return fmt.Errorf("journal %s: %w", j.path, err)
	}
	return nil
}

// syncDir makes a new name durable. Some file systems refuse it, where it is
// not needed.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	_ = d.Sync()
	return d.Close()
}

// History is what a journal says.
type History struct {
	ID        string
	Start     time.Time
	Place     Place
	Confirmed bool
	Steps     []Step // in the order of moving
}

// Step is one change and how far it got.
type Step struct {
	result.Change
	Set  bool   // the new value was set and read back
	Read string // as it read back
	Left bool   // somebody else changed it since; it is not ours any more
}

// open reports whether the change is neither undone nor somebody else's by now.
func (s Step) open() bool { return !s.Back && !s.Left }

// Open is the number of changes that are not undone.
func (h History) Open() int {
	n := 0
	for _, s := range h.Steps {
		if s.open() {
			n++
		}
	}
	return n
}

// Histories reads every journal in dir, oldest first. A directory that does
// not exist holds none.
func Histories(dir string) ([]History, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*"+ending))
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var hs []History
	for _, name := range names {
		h, err := read(name)
		if err != nil {
			return nil, err
		}
		hs = append(hs, h)
	}
	slices.SortStableFunc(hs, func(a, b History) int { return a.Start.Compare(b.Start) })
	return hs, nil
}

// Resume opens the journal with this ID to go on writing, and returns what it
// says so far.
func Resume(dir, id string) (*Journal, History, error) {
	path := filepath.Join(dir, filepath.Base(id)+ending)
	h, err := read(path)
	if err != nil {
		return nil, h, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, h, fmt.Errorf("journal: %w", err)
	}
	return &Journal{ID: h.ID, path: path, f: f, n: len(h.Steps)}, h, nil
}

func read(path string) (History, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return History{}, fmt.Errorf("journal: %w", err)
	}
	h, err := parse(b)
	h.ID = strings.TrimSuffix(filepath.Base(path), ending)
	if err != nil {
		return h, fmt.Errorf("journal %s: %w", path, err)
	}
	return h, nil
}

// parse reads the records of a journal. A torn last line is what a crash in
// the middle of a write leaves: nothing was set after it, so it is dropped.
func parse(b []byte) (History, error) {
	var h History
	torn := len(b) > 0 && b[len(b)-1] != '\n'
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var rec record
		if err := json.Unmarshal(lines.Bytes(), &rec); err != nil {
			if torn && !lines.Scan() {
				break
			}
			return h, fmt.Errorf("line %d: %w", n, err)
		}
		if err := h.apply(rec); err != nil {
			return h, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return h, lines.Err()
}

func (h *History) apply(rec record) error {
	switch rec.Kind {
	case "begin":
		h.Start = rec.At
		if rec.Place != nil {
			h.Place = *rec.Place
		}
		return nil
	case "confirmed":
		h.Confirmed = true
		return nil
	case "intent":
		if rec.Change == nil || rec.N != len(h.Steps)+1 {
			return fmt.Errorf("change %d out of order: %w", rec.N, fs.ErrInvalid)
		}
		h.Steps = append(h.Steps, Step{Change: *rec.Change})
		return nil
	}
	if rec.N < 1 || rec.N > len(h.Steps) {
		return fmt.Errorf("%s of change %d, which was not announced: %w", rec.Kind, rec.N, fs.ErrInvalid)
	}
	s := &h.Steps[rec.N-1]
	switch rec.Kind {
	case "done":
		s.Set, s.Read = true, rec.Read
	case "back":
		s.Back = true
	case "left":
		s.Left = true
	}
	return nil
}
