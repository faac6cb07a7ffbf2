package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"

	"github.com/linerate/linerate/internal/fleet"
	"github.com/linerate/linerate/internal/workload/stream/iperf3"
	"github.com/linerate/linerate/internal/workload/stream/netperf"
)

// streamPorts is where the servers that a session asked for listen.
type streamPorts struct {
	IPerf3  uint16 `json:"iperf3"`
	Netperf uint16 `json:"netperf"`
}

// sessionTests bounds the tests of one session's servers at once.
const sessionTests = 4

// benchVerbs are those that make or take traffic.
func benchVerbs(log *slog.Logger) []fleet.Verb {
	return []fleet.Verb{
		fleet.On("stream", fleet.Bench, func(ctx context.Context, s *fleet.Session, _ fleet.Nothing) (streamPorts, error) {
			return serveSession(ctx, s, log)
		}),
	}
}

// serveSession answers stream benches until the session ends.
func serveSession(ctx context.Context, s *fleet.Session, log *slog.Logger) (p streamPorts, err error) {
	life := endingWith(ctx, s)
	for srv, port := range map[server]*uint16{
		&iperf3.Server{Limit: sessionTests, Log: log}:  &p.IPerf3,
		&netperf.Server{Limit: sessionTests, Log: log}: &p.Netperf,
	} {
		a, err := srv.Listen(life.ctx, ":0")
		if err != nil {
			return p, errors.Join(err, life.end())
		}
		at, err := netip.ParseAddrPort(a.String())
		if err != nil {
			return p, errors.Join(fmt.Errorf("stream: %w", err), life.end())
		}
		*port = at.Port()
		life.run(func() error { return srv.Serve(life.ctx) })
	}
	return p, nil
}

// life is what runs for a session until that ends.
type life struct {
	ctx  context.Context
	stop context.CancelFunc
	all  sync.WaitGroup
	mu   sync.Mutex
	err  error
}

// endingWith returns a life that goes on after the request that began it.
func endingWith(ctx context.Context, s *fleet.Session) *life {
	l := &life{}
	l.ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.OnEnd(func() { _ = l.end() }) // nobody is left to be told
	return l
}

func (l *life) run(f func() error) {
	l.all.Go(func() {
		if err := f(); err != nil {
			l.mu.Lock()
			l.err = errors.Join(l.err, err)
			l.mu.Unlock()
		}
	})
}

// end stops it, once or again, and returns what went wrong.
func (l *life) end() error {
	l.stop()
	l.all.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// addressOf is the address of a connection's end without its port.
func addressOf(a net.Addr) (string, error) {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return "", err
	}
	return at.Addr().Unmap().WithZone("").String(), nil
}
