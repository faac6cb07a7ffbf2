//go:build !linux

package fastpath

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// Path is a fast path; only Linux has one.
type Path struct{}

func unsupported() error {
	return fmt.Errorf("fastpath: XDP is Linux's: %w", errors.ErrUnsupported)
}

// Dir wraps errors.ErrUnsupported here, as all of these do.
func Dir() (string, error) { return "", unsupported() }

// Up attaches a fast path.
func Up(Options) (*Path, error) { return nil, unsupported() }

// Open opens the fast path that is attached.
func Open(string) (*Path, error) { return nil, unsupported() }

// Down detaches it.
func Down(string) error { return unsupported() }

// Follow keeps it true to the stack.
func (*Path) Follow(context.Context, *slog.Logger) error { return unsupported() }

// State reads the counters.
func (*Path) State() (State, error) { return State{}, unsupported() }

// Flows reads the connections held.
func (*Path) Flows() []Flow { return nil }

// Modes says where programs sit.
func (*Path) Modes() map[string]string { return nil }

// Renew starts a new generation.
func (*Path) Renew() {}

// Close frees nothing here.
func (*Path) Close() error { return nil }

// ErrReplaced is not returned here.
var ErrReplaced = errors.New("another follower took over")

// Claim makes the caller the follower.
func Claim(context.Context) (context.Context, func(), error) { return nil, nil, unsupported() }

// Dismiss ends the follower.
func Dismiss() {}
