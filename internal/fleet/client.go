package fleet

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Client is a seat's session with an agent. Any goroutine may use it.
type Client struct {
	Peer          Peer
	Name          string // what the agent calls itself now
	Allow         []Class
	Local, Remote net.Addr

	wire *wire
	stop context.CancelFunc

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan message
	broken  error         // why, once done is closed
	done    chan struct{} // the connection has ended
}

// Options of Dial and Pair.
type Options struct {
	Identity Identity
	Store    *Store
	Silence  time.Duration // 0: Silence
	// Dialer connects; nil is the system's.
	Dialer interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	}
}

// open connects and returns the agent's first word beside its key.
func (o Options) open(ctx context.Context, addr string) (*wire, tls.ConnectionState, Fingerprint, message, error) {
	if o.Silence <= 0 {
		o.Silence = Silence
	}
	if o.Dialer == nil {
		o.Dialer = &net.Dialer{Timeout: handshake}
	}
	fail := func(err error) (*wire, tls.ConnectionState, Fingerprint, message, error) {
		return nil, tls.ConnectionState{}, "", message{}, fmt.Errorf("agent at %s: %w", addr, err)
	}
	c, err := o.Dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return fail(err)
	}
	w := newWire(tls.Client(c, o.Identity.tls()), o.Silence, maxAnswer)
	defer context.AfterFunc(ctx, func() { c.Close() })()
	state, print, err := w.greet(ctx)
	var first message
	if err == nil {
		first, err = w.read()
	}
	if err != nil {
		return fail(errors.Join(err, c.Close()))
	}
	return w, state, print, first, nil
}

// Dial opens a session with the agent at addr, whose key must have been paired.
func Dial(ctx context.Context, addr string, o Options) (*Client, error) {
	w, _, print, first, err := o.open(ctx, addr)
	if err != nil {
		return nil, err
	}
	peer, err := o.Store.agentAt(addr, print)
	var h hello
	switch {
	case err != nil:
	case first.Failure != nil:
		err = first.Failure
	default:
		err = json.Unmarshal(first.Body, &h)
	}
	if err == nil && h.Version != Version {
		err = fmt.Errorf("it speaks version %d, this end %d: install the same linerate at both: %w", h.Version, Version, ErrProtocol)
	}
	if err != nil {
		return nil, fmt.Errorf("agent at %s: %w", addr, errors.Join(err, w.conn.Close()))
	}
	live, stop := context.WithCancel(context.Background())
	c := &Client{Peer: peer, Name: plainName(h.Name), Allow: h.Allow, Local: w.conn.LocalAddr(), Remote: w.conn.RemoteAddr(),
		wire: w, stop: stop, waiting: map[uint64]chan message{}, done: make(chan struct{})}
	go w.live(live)
	go c.receive()
	return c, nil
}

// Pair proves to the agent at addr that the code it showed is known here, has
// it prove the same, and trusts its key from then on.
func Pair(ctx context.Context, addr, name, code string, o Options) (Peer, error) {
	w, state, print, first, err := o.open(ctx, addr)
	if err != nil {
		return Peer{}, err
	}
	defer w.conn.Close()
	fail := func(err error) (Peer, error) { return Peer{}, fmt.Errorf("pair with %s: %w", addr, err) }
	if first.Failure == nil {
		return fail(errors.New("it trusts this seat already; to begin anew, 'linerate agent forget' at both ends"))
	}
	p, err := newProver(code, state, print, o.Identity.Fingerprint())
	if err != nil {
		return fail(err)
	}
	body, err := json.Marshal(pairing{Name: name, Proof: p.proof(Seat)})
	if err != nil {
		return fail(err)
	}
	w.silence = 2 * handshake // the agent's key derivation on a slow board
	if err := w.send(message{ID: 1, Verb: "pair", Body: body}); err != nil {
		return fail(err)
	}
	m, err := w.read()
	var back pairing
	switch {
	case err != nil:
	case m.Failure != nil:
		err = m.Failure
	default:
		err = decodeStrict(m.Body, &back)
	}
	if err != nil {
		return fail(err)
	}
	if !p.holds(FarSide, back.Proof) {
		return fail(fmt.Errorf("it does not know the code either: somebody is in between: %w", ErrNotTrusted))
	}
	peer := Peer{Name: back.Name, Role: FarSide, Fingerprint: print, Address: addr, Since: time.Now()}
	return peer, o.Store.Trust(peer)
}

// agentAt returns the trusted agent with this key; one that was paired at
// another address may have moved, one with another key than was paired at this
// address may not.
func (s *Store) agentAt(addr string, print Fingerprint) (Peer, error) {
	peers, err := s.Peers()
	if err != nil {
		return Peer{}, err
	}
	for _, p := range peers {
		if p.Role == FarSide && p.Address == addr && p.Fingerprint != print {
			return Peer{}, fmt.Errorf("its key %s is not the %s that was paired here: somebody is in between, or it was set up anew; then 'linerate agent forget %s' and pair again: %w",
				print.Short(), p.Fingerprint.Short(), p.Name, ErrNotTrusted)
		}
	}
	p, err := s.Trusted(FarSide, print)
	if err != nil {
		return p, fmt.Errorf("%w; run 'linerate agent' there and 'linerate agent trust %s CODE' here", err, addr)
	}
	return p, nil
}

// receive hands answers to who waits for them.
func (c *Client) receive() {
	var err error
	for {
		var m message
		if m, err = c.wire.read(); err != nil {
			break
		}
		c.mu.Lock()
		answer, asked := c.waiting[m.ID]
		delete(c.waiting, m.ID)
		c.mu.Unlock()
		if asked {
			answer <- m
		}
	}
	c.stop()
	c.wire.conn.Close()
	c.mu.Lock()
	c.broken = err
	c.mu.Unlock()
	close(c.done)
}

func (c *Client) call(ctx context.Context, verb string, req any) (json.RawMessage, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	answer := make(chan message, 1)
	c.mu.Lock()
	c.last++
	id := c.last
	c.waiting[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
	}()
	if err := c.wire.send(message{ID: id, Verb: verb, Body: body}); err != nil {
		return nil, err
	}
	select {
	case m := <-answer:
		if m.Failure != nil {
			return nil, m.Failure
		}
		return m.Body, nil
	case <-c.done:
		c.mu.Lock()
		defer c.mu.Unlock()
		return nil, c.broken
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close ends the session; the agent ends what it started for it.
func (c *Client) Close() error {
	c.stop()
	err := c.wire.conn.Close()
	<-c.done
	return err
}
