package main

import (
	"context"

	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/result"
)

func (s *streamFlags) series(ctx context.Context, d stream.Dialect, target string, t stream.Test) (*result.Result, error) {
	return nil, nil
}

func deliverIperf3(c cli, out *output, r *result.Result, o stream.Outcome, s *streamFlags, err error) error {
	return out.deliver(c, r, err)
}
