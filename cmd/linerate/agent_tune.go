package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/linerate/linerate/internal/fleet"
	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/lever"
	"github.com/linerate/linerate/internal/lever/auto"
	"github.com/linerate/linerate/result"
)

// Requests and answers of the verbs about settings.
type (
	settingsAsk struct {
		Names []string `json:"names"` // settings, or interfaces for all of theirs
	}
	settingAt struct {
		ID    string `json:"id"`
		Value string `json:"value,omitempty"`
		Why   string `json:"why,omitempty"` // it cannot be read
	}
	adviceAsk struct {
		Role      string        `json:"role"`
		Interface string        `json:"interface"`
		Advice    result.Advice `json:"advice"`
	}
	adviceAnswer struct {
		Moves   []auto.Move `json:"moves,omitempty"`
		InForce string      `json:"in_force,omitempty"` // why there is nothing to do
		None    string      `json:"none,omitempty"`     // why it is no setting there
	}
	applyAsk struct {
		ID     string        `json:"id"`
		Value  string        `json:"value"`
		Why    string        `json:"why,omitempty"`
		Within time.Duration `json:"within_ns,omitempty"` // to be confirmed after the session was left
	}
	applied struct {
		Journal string        `json:"journal"`
		Change  result.Change `json:"change"`
		Owners  []lever.Owner `json:"owners,omitempty"`
	}
	journalAsk struct {
		Journal string `json:"journal,omitempty"` // "" is all
	}
	putBack struct {
		Change result.Change `json:"change"`
		Left   string        `json:"left,omitempty"`
		Why    string        `json:"why,omitempty"` // it could not be put back
	}
)

// waitLeast and waitMost bound the time in which a seat that left may confirm.
const (
	waitLeast = time.Second
	waitMost  = time.Hour
)

// agentTune turns settings of this box for seats.
type agentTune struct {
	tuneOptions
	host host.Host
	log  *slog.Logger

	mu   sync.Mutex // one change at a time, whoever asks
	held map[*fleet.Session]*heldJournal
}

// heldJournal is what a session has changed.
type heldJournal struct {
	journal *lever.Journal
	leash   io.WriteCloser
	left    bool // to the dead-man timer: a confirmation may come
}

func (a *agentTune) verbs() []fleet.Verb {
	return []fleet.Verb{
		fleet.On("settings", fleet.Read, a.settings),
		fleet.On("advise", fleet.Read, a.advise),
		fleet.On("history", fleet.Read, func(context.Context, *fleet.Session, fleet.Nothing) ([]lever.History, error) {
			return lever.Histories(a.dir)
		}),
		fleet.On("apply", fleet.Tune, a.apply),
		fleet.On("back", fleet.Tune, a.back),
		fleet.On("confirm", fleet.Tune, a.confirm),
		fleet.On("rollback", fleet.Tune, a.rollback),
		fleet.On("leave", fleet.Tune, a.leave),
	}
}

// find returns a setting that a seat may turn. Parameters of the kernel beside
// the network's could run programs (kernel.core_pattern, kernel.modprobe).
func (a *agentTune) find(id string) (lever.Setting, error) {
	if strings.HasPrefix(id, "sysctl.") && !strings.HasPrefix(id, "sysctl.net.") || strings.HasPrefix(id, "file:") {
		return lever.Setting{}, fmt.Errorf("%s: agents turn settings of the network only: %w", id, fleet.ErrRefused)
	}
	return lever.Find(a.host, id)
}

func (a *agentTune) settings(ctx context.Context, _ *fleet.Session, ask settingsAsk) ([]settingAt, error) {
	var out []settingAt
	for _, name := range ask.Names {
		ids, err := lever.Expand(a.host, name)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			s, err := a.find(id)
			v := ""
			if err == nil {
				v, err = s.Get(ctx)
			}
			if err != nil && len(ids) == 1 {
				return nil, err
			}
			if err == nil {
				out = append(out, settingAt{ID: id, Value: v})
			}
		}
	}
	return out, nil
}

func (a *agentTune) advise(ctx context.Context, _ *fleet.Session, ask adviceAsk) (adviceAnswer, error) {
	if id := ask.Advice.Lever; strings.HasPrefix(id, "process.") {
		return adviceAnswer{None: id + ": another program there"}, nil
	}
	moves, err := auto.Local{Host: a.host, Interface: ask.Interface, As: ask.Role}.Find(ctx, ask.Advice)
	switch {
	case errors.Is(err, auto.ErrInForce):
		return adviceAnswer{InForce: err.Error()}, nil
	case err != nil:
		return adviceAnswer{None: err.Error()}, nil
	}
	return adviceAnswer{Moves: moves}, nil
}

// apply makes one change. The session that asked for it has to live on to keep
// it, so that a change that cuts the path it came by undoes itself.
func (a *agentTune) apply(ctx context.Context, s *fleet.Session, ask applyAsk) (applied, error) {
	setting, err := a.find(ask.ID)
	if err != nil {
		return applied{}, err
	}
	if err := a.mayCut(s, setting, ask.Value); err != nil {
		return applied{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := ctx.Err(); err != nil { // the seat is gone meanwhile
		return applied{}, context.Cause(ctx)
	}
	held, err := a.hold(s, min(max(ask.Within, waitLeast), waitMost))
	if err != nil {
		return applied{}, err
	}
	ch, err := held.journal.Apply(context.WithoutCancel(ctx), setting, ask.Value, ask.Why)
	return applied{held.journal.ID, ch, lever.Owners(a.host, ask.ID)}, err
}

// leastMTU is what a path has to carry (RFC 8200 section 5).
const leastMTU = 1280

// mayCut refuses what would cut the session's own path for certain.
func (a *agentTune) mayCut(s *fleet.Session, setting lever.Setting, value string) error {
	if !setting.Cuts || !a.carries(s, setting.Interface) {
		return nil
	}
	mtu, err := strconv.Atoi(value)
	if strings.HasPrefix(setting.ID(), "link.mtu@") && err == nil && mtu < leastMTU {
		return fmt.Errorf("%s=%s: this agent is driven through %s, which must carry %d bytes: %w", setting.ID(), value, setting.Interface, leastMTU, fleet.ErrRefused)
	}
	return nil
}

// carries reports whether a session runs over an interface; where that is not
// known it may.
func (a *agentTune) carries(s *fleet.Session, ifname string) bool {
	at, _ := addressOf(s.Remote)
	path, err := lever.InterfaceOf(a.host, at)
	return err != nil || path == ifname
}

// hold returns the session's journal, with the process that undoes it if this
// one dies.
func (a *agentTune) hold(s *fleet.Session, within time.Duration) (*heldJournal, error) {
	if held := a.held[s]; held != nil {
		return held, nil
	}
	exe, err := self()
	if err != nil {
		return nil, err
	}
	j, err := lever.Create(a.dir, lever.Here(a.host))
	if err != nil {
		return nil, err
	}
	leash, err := j.Leash(exe, "tune", "watchdog", "--leash", "--state", a.dir, "--wait", within.String(), j.ID)
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	held := &heldJournal{journal: j, leash: leash}
	if a.held == nil {
		a.held = map[*fleet.Session]*heldJournal{}
	}
	a.held[s] = held
	s.OnEnd(func() { a.release(s, held) })
	return held, nil
}

// release ends a session's hold: what was neither confirmed nor left to the
// timer is put back.
func (a *agentTune) release(s *fleet.Session, held *heldJournal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.held, s)
	if held.left {
		fmt.Fprintln(held.leash, "wait") // a timer that died has put back already
	} else if past, err := lever.Read(a.dir, held.journal.ID); err != nil {
		a.log.Error("put back", "error", err)
	} else if !past.Confirmed {
		out, err := lever.Undo(context.Background(), a.host, lever.Here(a.host), held.journal, past)
		for _, o := range out {
			a.log.Info("put back", "setting", o.Lever, "to", o.Before, "left", o.Left, "error", o.Err)
		}
		if err != nil {
			a.log.Error("put back", "error", err)
		}
	}
	if err := errors.Join(held.leash.Close(), held.journal.Close()); err != nil {
		a.log.Error("put back", "error", err)
	}
}

// back undoes the session's latest change.
func (a *agentTune) back(ctx context.Context, s *fleet.Session, _ fleet.Nothing) (putBack, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	held := a.held[s]
	if held == nil {
		return putBack{}, errors.New("this session has changed nothing")
	}
	o, any, err := held.journal.Back(ctx, func(id string) (lever.Lever, error) { x, err := lever.Find(a.host, id); return x.Lever, err })
	if err == nil && !any {
		err = errors.New("nothing to put back")
	}
	return putBackOf(o), err
}

// confirm keeps changes: the session's own where it has any and names no other.
func (a *agentTune) confirm(_ context.Context, s *fleet.Session, ask journalAsk) ([]lever.History, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var args []string
	if held := a.held[s]; held != nil && ask.Journal == "" {
		ask.Journal = held.journal.ID
	}
	if ask.Journal != "" {
		args = []string{ask.Journal}
	}
	var kept []lever.History
	err := a.each(args, func(j *lever.Journal, h lever.History) error {
		if h.Confirmed || h.Open() == 0 {
			return nil
		}
		kept = append(kept, h)
		return j.Confirm()
	})
	return kept, err
}

// rollback undoes what seats have changed here.
func (a *agentTune) rollback(ctx context.Context, _ *fleet.Session, ask journalAsk) ([]putBack, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var args []string
	if ask.Journal != "" {
		args = []string{ask.Journal}
	}
	out := []putBack{}
	err := a.each(args, func(j *lever.Journal, past lever.History) error {
		done, err := lever.Undo(context.WithoutCancel(ctx), a.host, lever.Here(a.host), j, past)
		for _, o := range done {
			out = append(out, putBackOf(o))
		}
		return err
	})
	if errors.Is(err, errNotBack) {
		err = nil // each change says it
	}
	return out, err
}

// leave lets the session's changes wait for a confirmation from another one.
func (a *agentTune) leave(_ context.Context, s *fleet.Session, _ fleet.Nothing) (fleet.Nothing, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if held := a.held[s]; held != nil {
		held.left = true
	}
	return fleet.Nothing{}, nil
}

func putBackOf(o lever.Outcome) putBack {
	p := putBack{Change: o.Change, Left: o.Left}
	if o.Err != nil {
		p.Why = o.Err.Error()
	}
	return p
}
