package port

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/linerate/linerate/internal/wire/frame"
)

// ErrNoNeighbour is wrapped by Resolve's error where nobody answers.
var ErrNoNeighbour = errors.New("no neighbour answers")

// Resolve asks on the link who has target, for a second at most.
func Resolve(ctx context.Context, p Port, mac net.HardwareAddr, from, target netip.Addr) (net.HardwareAddr, error) {
	into := make([]Frame, p.Info().Batch)
	deadline := time.Now().Add(time.Second)
	for asked := (time.Time{}); time.Now().Before(deadline); {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if time.Since(asked) > 200*time.Millisecond {
			if _, err := p.Send([]Frame{{Data: frame.Request(mac, from, target)}}); err != nil {
				return nil, err
			}
			asked = time.Now()
		}
		n, err := p.Recv(into)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, err
		}
		for _, f := range into[:n] {
			if a, ok := frame.ParseNeighbour(f.Data); ok && a.Reply && a.Sender == target {
				return a.MAC, nil
			}
		}
	}
	return nil, fmt.Errorf("%v on %s: %w", target, p.Info().Name, ErrNoNeighbour)
}

// Answer answers, until ctx ends, for every address that has says is ours, as
// a host with these addresses would.
func Answer(ctx context.Context, p Port, mac net.HardwareAddr, has func(netip.Addr) bool) error {
	into := make([]Frame, p.Info().Batch)
	for ctx.Err() == nil {
		n, err := p.Recv(into)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		for _, f := range into[:n] {
			if q, ok := frame.ParseNeighbour(f.Data); ok && !q.Reply && has(q.Target) {
				if _, err := p.Send([]Frame{{Data: q.Answer(mac)}}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
