package main

import (
	"context"
	"fmt"

	"github.com/linerate/linerate/internal/capture"
	"github.com/linerate/linerate/result"
)

// merge analyses the sender's capture and follows its largest connection into
// the receiver's.
func (o *analyzeOptions) merge(ctx context.Context, c cli, sender, receiver string) (*result.Result, error) {
	if sender == "-" || receiver == "-" {
		return nil, usagef("analyze: two captures must be files, as the first is read twice")
	}
	r, err := o.file(ctx, c, sender)
	if err != nil {
		return nil, err
	}
	e := o.engine()
	if _, err := readCapture(ctx, c, sender, e.Add); err != nil {
		return nil, err
	}
	largest := e.Connections()
	if len(largest) == 0 {
		return r, fmt.Errorf("analyze %s: no TCP connection with payload to look for in %s", sender, receiver)
	}
	m := capture.NewMerge(largest[0])
	for _, end := range []struct {
		name string
		add  func(*capture.Frame)
	}{{sender, m.AtSender}, {receiver, m.AtReceiver}} {
		if _, err := readCapture(ctx, c, end.name, end.add); err != nil {
			return r, err
		}
	}
	trial, findings, ok := m.Trial(largest[0].Name())
	if !ok {
		return r, fmt.Errorf("analyze: %s and %s have too few packets of %s in common: are they of the same transfer?", sender, receiver, largest[0].Name())
	}
	r.Trials = append(r.Trials, trial)
	r.Findings = append(r.Findings, findings...)
	return r, nil
}
