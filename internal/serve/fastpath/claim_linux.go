package fastpath

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// claimName is an abstract socket, of which a network namespace has one: who
// listens on it follows the rules.
const claimName = "@linerate-forward"

// ErrReplaced is the cause of the context of a follower that another took over
// from.
var ErrReplaced = errors.New("another follower took over")

// Claim makes the caller the one that follows: an earlier follower of the same
// namespace ends. The context it returns ends when the caller is replaced.
func Claim(ctx context.Context) (context.Context, func(), error) {
	l, err := take(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("fastpath: claim: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		if c, err := l.Accept(); err == nil {
			cancel(ErrReplaced)
			l.Close()
			c.Close()
		}
	}()
	return ctx, func() { cancel(nil); l.Close() }, nil
}

func take(ctx context.Context) (net.Listener, error) {
	const most = 5 * time.Second
	for until := time.Now().Add(most); ; time.Sleep(20 * time.Millisecond) {
		l, err := (&net.ListenConfig{}).Listen(ctx, "unix", claimName)
		if err == nil || time.Now().After(until) || ctx.Err() != nil {
			return l, err
		}
		Dismiss()
	}
}

// Dismiss ends the follower of the namespace, if there is one.
func Dismiss() {
	if c, err := net.Dial("unix", claimName); err == nil {
		c.Close()
	}
}
