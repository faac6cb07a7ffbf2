package main

import (
	"context"
	"net"
	"strings"

	"github.com/linerate/linerate/internal/fleet"
	measure "github.com/linerate/linerate/internal/run"
	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/result"
)

// servedBy has the other end serve what the flags ask for, where target names
// no port, and returns where.
func (s *streamFlags) servedBy(ctx context.Context, f *farEnd, target string, t stream.Test) (string, error) {
	if _, _, err := net.SplitHostPort(target); err == nil {
		return target, nil // a server that runs already
	}
	at, err := f.streams(ctx, strings.Trim(target, "[]"))
	if err != nil {
		return "", err
	}
	return at[s.dialectFor(t)], nil
}

// farSide is the other end of a bench: its readings and how it is set land in
// the same Result.
type farSide struct {
	far *farEnd
	end result.End
	ifs []string
}

// openFarSide returns nil where no agent was named.
func (s *streamFlags) openFarSide(ctx context.Context, target *string, t stream.Test) (*farSide, error) {
	if !s.far.given() {
		return nil, nil
	}
	f, err := s.far.open(ctx)
	if err != nil {
		return nil, err
	}
	side := &farSide{far: f}
	address := *target
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	end, d, err := f.describe(ctx, "dut", strings.Trim(address, "[]"))
	if err == nil {
		side.end, side.ifs = end, []string{d.Interface}
		*target, err = s.servedBy(ctx, f, *target, t)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return side, nil
}

func (s *farSide) meters() []measure.Meter {
	if s == nil {
		return nil
	}
	return []measure.Meter{fleet.Meter{Client: s.far.Client, Role: s.end.Role, Interfaces: s.ifs}}
}

// into fills in the other end of a Result.
func (s *farSide) into(r *result.Result) {
	if s != nil && r != nil && len(r.Ends) > 1 {
		r.Ends[1] = s.end
	}
}

func (s *farSide) close() {
	if s != nil {
		s.far.Close()
	}
}
