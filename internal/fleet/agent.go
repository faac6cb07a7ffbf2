package fleet

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"
)

// Agent is the far end: it does its verbs for the seats it was paired with.
type Agent struct {
	Name     string // what it calls itself
	Identity Identity
	Store    *Store
	Verbs    []Verb
	Allow    []Class       // beside Read
	Silence  time.Duration // 0: Silence
	Log      *slog.Logger

	ln net.Listener
}

// hello is the agent's first word to a seat it trusts.
type hello struct {
	Version int     `json:"version"`
	Name    string  `json:"name"`
	Allow   []Class `json:"allow"`
}

func (a *Agent) allows(c Class) bool { return c == Read || slices.Contains(a.Allow, c) }

func (a *Agent) silence() time.Duration {
	if a.Silence > 0 {
		return a.Silence
	}
	return Silence
}

// Listen opens the agent's port.
func (a *Agent) Listen(ctx context.Context, addr string) (net.Addr, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	a.ln = ln
	return ln.Addr(), nil
}

// Serve answers seats until ctx ends, and returns when every session has been
// wound up.
func (a *Agent) Serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { a.ln.Close() })()
	// Strangers and seats are counted apart: the one must not shut out the other.
	strangers, seats := make(chan struct{}, sessions), make(chan struct{}, sessions)
	var all sync.WaitGroup
	defer all.Wait()
	for {
		c, err := a.ln.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("agent: %w", err)
			}
			a.Log.Warn("accept", "error", err)
			time.Sleep(50 * time.Millisecond) // out of descriptors: some will be freed
			continue
		}
		select {
		case strangers <- struct{}{}:
			all.Go(func() { a.meet(ctx, c, strangers, seats) })
		default:
			a.Log.Warn("too many connections", "remote", c.RemoteAddr())
			c.Close()
		}
	}
}

// meet finds out who connects: a seat to serve, or somebody to pair with.
func (a *Agent) meet(ctx context.Context, c net.Conn, strangers, seats chan struct{}) {
	known := false
	defer func() {
		c.Close()
		if !known {
			<-strangers
		}
	}()
	log := a.Log.With("remote", c.RemoteAddr().String())
	w := newWire(tls.Server(c, a.Identity.tls()), a.silence(), maxRequest)
	state, print, err := w.greet(ctx)
	if err != nil {
		log.Warn("refused", "error", err)
		return
	}
	peer, err := a.Store.Trusted(Seat, print)
	if err != nil {
		if err := a.pair(ctx, w, state, print, err); err != nil {
			log.Warn("refused", "key", print.Short(), "error", err)
			return
		}
		log.Info("paired", "key", print.Short())
		return
	}
	<-strangers
	known = true
	log = log.With("seat", peer.Name, "key", print.Short())
	select {
	case seats <- struct{}{}:
		defer func() { <-seats }()
	default:
		log.Warn("refused", "error", "too many sessions")
		_ = w.send(message{Failure: failureOf(fmt.Errorf("%d sessions are open: %w", sessions, ErrRefused))}) // it is told why if it listens
		return
	}
	body, err := json.Marshal(hello{Version, a.Name, append([]Class{Read}, a.Allow...)})
	if err == nil {
		err = w.send(message{Body: body})
	}
	if err != nil {
		log.Warn("lost", "error", err)
		return
	}
	log.Info("session begins")
	s := &Session{Peer: peer, Local: c.LocalAddr(), Remote: c.RemoteAddr(), agent: a, wire: w, log: log}
	log.Info("session ends", "because", s.serve(ctx))
}

// pair lets one message of a stranger prove that it knows the code.
func (a *Agent) pair(ctx context.Context, w *wire, state tls.ConnectionState, seat Fingerprint, why error) error {
	if err := w.send(message{Failure: failureOf(fmt.Errorf("pair first with 'linerate agent trust': %w", why))}); err != nil {
		return err
	}
	w.silence, w.limit = handshake, 4<<10
	m, err := w.read()
	if err != nil {
		return errors.Join(why, err)
	}
	answer := message{ID: m.ID}
	if answer.Body, err = a.accept(m, state, seat); err != nil {
		answer.Failure = failureOf(err)
	}
	return errors.Join(err, w.send(answer), ctx.Err())
}

func (a *Agent) accept(m message, state tls.ConnectionState, seat Fingerprint) (json.RawMessage, error) {
	var ask pairing
	if m.Verb != "pair" {
		return nil, fmt.Errorf("%q from somebody unknown: %w", m.Verb, ErrNotTrusted)
	}
	if err := decodeStrict(m.Body, &ask); err != nil {
		return nil, fmt.Errorf("pair: %w: %w", ErrProtocol, err)
	}
	var p prover
	var failed error
	err := a.Store.redeem(time.Now(), func(code string) bool {
		p, failed = newProver(code, state, a.Identity.Fingerprint(), seat)
		return failed == nil && p.holds(Seat, ask.Proof)
	})
	if err = errors.Join(failed, err); err != nil {
		return nil, err
	}
	if err := a.Store.Trust(Peer{Name: ask.Name, Role: Seat, Fingerprint: seat, Since: time.Now()}); err != nil {
		return nil, err
	}
	return json.Marshal(pairing{Name: a.Name, Proof: p.proof(FarSide)})
}
