package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"
)

// Session is one connection of a seat. Verbs leave in it what has to end with
// it.
type Session struct {
	Peer          Peer
	Local, Remote net.Addr

	agent *Agent
	wire  *wire
	log   *slog.Logger

	mu   sync.Mutex
	ends []func()
	over bool
}

// OnEnd has f run when the session ends, the last registered first: the seat
// said goodbye, died, or was lost. Where it has ended already, f runs at once.
func (s *Session) OnEnd(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		go f()
		return
	}
	s.ends = append(s.ends, f)
}

// serve answers requests until the seat is gone. Requests under way are
// cancelled then, and what the session left behind ends when they have.
func (s *Session) serve(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	var under sync.WaitGroup
	under.Go(func() { s.wire.live(ctx) })
	defer context.AfterFunc(ctx, func() { s.wire.conn.Close() })()
	slots := make(chan struct{}, atOnce)
	err := func() error {
		for {
			m, err := s.wire.read()
			if err != nil {
				return err
			}
			if m.ID == 0 {
				continue
			}
			select {
			case slots <- struct{}{}:
			default:
				return fmt.Errorf("more than %d requests at once: %w", atOnce, ErrProtocol)
			}
			under.Go(func() {
				defer func() { <-slots }()
				if err := s.wire.send(s.answer(ctx, m)); err != nil {
					stop(err)
				}
			})
		}
	}()
	stop(err)
	under.Wait()
	s.mu.Lock()
	s.over = true
	ends := s.ends
	s.mu.Unlock()
	for _, f := range slices.Backward(ends) {
		f()
	}
	return err
}

// answer does what a request asks for, and writes it down.
func (s *Session) answer(ctx context.Context, m message) message {
	began := time.Now()
	v, body, err := s.do(ctx, m)
	out := message{ID: m.ID}
	if err == nil {
		out.Body, err = json.Marshal(body)
	}
	if err == nil && len(out.Body) > maxAnswer-1024 {
		err = fmt.Errorf("%s: the answer has more than %d bytes", m.Verb, maxAnswer)
	}
	if err != nil {
		out.Body, out.Failure = nil, failureOf(err)
	}
	level := slog.LevelInfo
	if v.Class == Read && err == nil {
		level = slog.LevelDebug
	}
	request := string(m.Body[:min(512, len(m.Body))])
	s.log.LogAttrs(ctx, level, "request", slog.String("verb", m.Verb), slog.String("request", request), slog.Duration("took", time.Since(began)), slog.Any("error", err))
	return out
}

func (s *Session) do(ctx context.Context, m message) (Verb, any, error) {
	i := slices.IndexFunc(s.agent.Verbs, func(v Verb) bool { return v.Name == m.Verb })
	if i < 0 {
		return Verb{}, nil, fmt.Errorf("%q is no verb of this agent: %w", m.Verb, ErrRefused)
	}
	v := s.agent.Verbs[i]
	if !s.agent.allows(v.Class) {
		return v, nil, fmt.Errorf("%s: this agent does not allow %q; start it with --allow %s: %w", v.Name, v.Class, v.Class, ErrRefused)
	}
	// Who was forgotten meanwhile is forgotten.
	if _, err := s.agent.Store.Trusted(Seat, s.Peer.Fingerprint); err != nil {
		return v, nil, err
	}
	body, err := v.serve(ctx, s, m.Body)
	return v, body, err
}
