// Package fleet lets one seat drive the other end of a link.
//
// The far end runs an Agent: a closed set of verbs, each with a typed request
// and answer, over TLS 1.3 with a key on both sides. There is no shell and no
// verb that reads or writes a file of the caller's choice. The near end, the
// seat, holds a Client.
//
// A connection is a session, and what a session starts ends with it: a seat
// that dies, hangs or loses its link leaves a far end as it was found.
package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Port is where agents listen unless told otherwise.
const Port = 5311

// Version of the protocol; both ends must have the same.
const Version = 1

// Bounds on what a peer may cost us.
const (
	maxRequest = 64 << 10         // bytes of a request's line
	maxAnswer  = 16 << 20         // bytes of an answer's line
	atOnce     = 8                // requests of a session under way
	sessions   = 8                // sessions, and as many peers that have not said who they are
	handshake  = 10 * time.Second // to say who one is
)

// Silence is how long a peer may say nothing before it counts as lost. Each
// end speaks at least four times as often.
const Silence = 10 * time.Second

// Errors that callers tell apart.
var (
	// ErrRefused: the agent does not do this, for this seat or for anybody.
	ErrRefused = errors.New("refused")
	// ErrNotTrusted: the peer's key is not one that was paired.
	ErrNotTrusted = errors.New("not trusted")
	// ErrLost: the connection broke, or the peer fell silent.
	ErrLost = errors.New("connection lost")
	// ErrProtocol: what arrived is no message of ours.
	ErrProtocol = errors.New("protocol error")
)

// Class groups the verbs by what they may do, for Agent.Allow.
type Class string

// The classes.
const (
	Read  Class = "read"  // facts and counters
	Bench Class = "bench" // traffic
	Tune  Class = "tune"  // settings
)

// Verb is one thing that an agent does when asked.
type Verb struct {
	Name  string
	Class Class
	serve func(ctx context.Context, s *Session, body json.RawMessage) (any, error)
}

// On makes a verb of a function. A request with a field that Req lacks is
// refused: an older agent must not do half of what a newer seat means.
func On[Req, Resp any](name string, class Class, f func(context.Context, *Session, Req) (Resp, error)) Verb {
	return Verb{name, class, func(ctx context.Context, s *Session, body json.RawMessage) (any, error) {
		var req Req
		if err := decodeStrict(body, &req); err != nil {
			return nil, fmt.Errorf("%s: %w: %w", name, ErrProtocol, err)
		}
		return f(ctx, s, req)
	}}
}

// Call asks the far end to do what a verb says and waits for its answer.
func Call[Resp any](ctx context.Context, c *Client, verb string, req any) (Resp, error) {
	var resp Resp
	body, err := c.call(ctx, verb, req)
	if err == nil {
		err = json.Unmarshal(body, &resp)
	}
	if err != nil {
		return resp, fmt.Errorf("%s: %s: %w", c.Peer.Name, verb, err)
	}
	return resp, nil
}

// Nothing is the request or answer of a verb that needs none.
type Nothing struct{}
