package auto

import (
	"context"
	"errors"
	"fmt"

	"github.com/linerate/linerate/internal/lever"
	"github.com/linerate/linerate/result"
)

// ErrInForce is wrapped by Find's error where the setting stands as advised, or
// better, already.
var ErrInForce = errors.New("in force already")

// ErrLeft is wrapped by Back's error where somebody else changed the setting
// meanwhile, or it went with its program: there is nothing of ours to put back.
var ErrLeft = errors.New("it was left")

// Box is an end of the link whose settings can be turned: this machine, or a
// peer through its agent. It journals each change at that end, and undoes what
// was not kept when its seat is gone.
type Box interface {
	// Role is what advice calls this end: "sender" or "receiver".
	Role() string
	// Find says how this end follows a piece of advice. Its error wraps
	// lever.ErrNoLever where that is no setting here, ErrInForce where
	// there is nothing to do.
	Find(ctx context.Context, a result.Advice) ([]Move, error)
	// Apply makes one change: journalled, set, read back.
	Apply(ctx context.Context, m Move, why string) (result.Change, error)
	// Back puts back the latest change that is in force; its error wraps
	// ErrLeft where that is no longer ours to do.
	Back(ctx context.Context) error
}

// Move is a setting and the value it is to take.
type Move struct {
	ID     string
	Before string // as it stands
	Value  string
}

// Turn is a Move at one of the ends.
type Turn struct {
	At Box
	Move
}

// Journalled is a Box whose changes go through a journal on this machine.
type Journalled struct {
	Local
	Journal *lever.Journal
}

// Apply moves a setting of this machine.
func (b Journalled) Apply(ctx context.Context, m Move, why string) (result.Change, error) {
	l, err := lever.Find(b.Host, m.ID)
	if err != nil {
		return result.Change{Lever: m.ID}, err
	}
	return b.Journal.Apply(ctx, l, m.Value, why)
}

// Back puts back the latest change of the journal.
func (b Journalled) Back(ctx context.Context) error {
	o, any, err := b.Journal.Back(ctx, func(id string) (lever.Lever, error) {
		s, err := lever.Find(b.Host, id)
		return s.Lever, err
	})
	switch {
	case err != nil:
		return err
	case !any:
		return errors.New("nothing to put back")
	case o.Left != "":
		return fmt.Errorf("%s: now %s, not by us: %w", o.Lever, o.Left, ErrLeft)
	}
	return nil
}
