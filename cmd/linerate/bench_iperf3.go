package main

import (
	"encoding/json"
	"errors"

	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/internal/workload/stream/iperf3"
	"github.com/linerate/linerate/result"
)

// deliverIperf3 prints a result as iperf3 -J does; --out and --expect work as
// ever.
func (s *streamFlags) deliverIperf3(c cli, out *output, r *result.Result, o stream.Outcome, target string, runErr error) error {
	if r == nil {
		return runErr
	}
	doc := iperf3.Output(r, o, target)
	doc.Title, doc.Extra = s.client.Title, s.client.Extra
	enc := json.NewEncoder(c.out)
	enc.SetIndent("", "\t")
	err := enc.Encode(doc)
	if out.file != "" {
		err = errors.Join(err, writeResult(out.file, r))
	}
	return errors.Join(runErr, err, out.judge(r))
}
