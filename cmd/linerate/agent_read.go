package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"slices"

	"github.com/linerate/linerate/internal/fleet"
	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/host/collect"
	"github.com/linerate/linerate/internal/lever"
	"github.com/linerate/linerate/internal/meter/conntrack"
	"github.com/linerate/linerate/internal/meter/cpu"
	"github.com/linerate/linerate/internal/meter/irq"
	"github.com/linerate/linerate/internal/meter/nic"
	"github.com/linerate/linerate/internal/meter/nstat"
	"github.com/linerate/linerate/internal/meter/qdisc"
	"github.com/linerate/linerate/internal/meter/softnet"
	measure "github.com/linerate/linerate/internal/run"
	"github.com/linerate/linerate/result"
)

// Requests and answers of the verbs that read.
type (
	describeAsk struct {
		Interfaces []string `json:"interfaces,omitempty"`
		Address    string   `json:"address,omitempty"` // also the interface that has it, or leads to it
	}
	description struct {
		Host       string            `json:"host"`
		Interfaces []string          `json:"interfaces"`          // all there are
		Interface  string            `json:"interface,omitempty"` // that of the address
		Facts      map[string]string `json:"facts"`
		Settings   map[string]string `json:"settings"`
		Gaps       []result.Gap      `json:"gaps,omitempty"` // meters that cannot be read
	}
	recording struct {
		Archive []byte `json:"archive"` // tar.gz as collect writes it
		Gaps    int    `json:"gaps"`
	}
	doctorAsk struct {
		Interfaces []string `json:"interfaces,omitempty"`
	}
)

// readVerbs are those that change nothing.
func readVerbs(h host.Host) []fleet.Verb {
	return []fleet.Verb{
		fleet.On("describe", fleet.Read, func(ctx context.Context, s *fleet.Session, a describeAsk) (description, error) {
			return describe(ctx, h, a)
		}),
		fleet.On("snapshot", fleet.Read, func(ctx context.Context, _ *fleet.Session, _ fleet.Nothing) (recording, error) {
			return archive(ctx, h)
		}),
		fleet.On("meters", fleet.Read, func(ctx context.Context, _ *fleet.Session, a fleet.Selection) ([]result.Value, error) {
			return readAll(ctx, endMeters(h, a)), nil
		}),
		fleet.On("counters", fleet.Read, func(ctx context.Context, _ *fleet.Session, a fleet.Selection) ([]result.Value, error) {
			return readAll(ctx, ruleMeters(h, a)), nil
		}),
		fleet.On("doctor", fleet.Read, func(_ context.Context, _ *fleet.Session, a doctorAsk) (diagnosis, error) {
			return diagnose(h, true, a.Interfaces)
		}),
		fleet.On("clock", fleet.Read, func(context.Context, *fleet.Session, fleet.Nothing) (fleet.Clock, error) {
			return fleet.Clock{Monotonic: monotonic()}, nil
		}),
	}
}

func describe(ctx context.Context, h host.Host, a describeAsk) (d description, err error) {
	d.Host = hostname()
	if d.Interfaces, err = nic.Interfaces(h); err != nil {
		return d, err
	}
	if a.Address != "" {
		if d.Interface, err = lever.InterfaceOf(h, a.Address); err != nil {
			return d, err
		}
		a.Interfaces = append(a.Interfaces, d.Interface)
	}
	// Names become parts of paths.
	a.Interfaces = slices.DeleteFunc(slices.Compact(a.Interfaces), func(name string) bool { return !slices.Contains(d.Interfaces, name) })
	d.Facts, d.Settings = host.Describe(h, a.Interfaces...)
	for _, m := range endMeters(h, fleet.Selection{Interfaces: a.Interfaces}) {
		if _, err := m.Read(ctx); err != nil {
			d.Gaps = append(d.Gaps, result.Gap{Source: m.Name(), Reason: err.Error()})
		}
	}
	return d, nil
}

func archive(ctx context.Context, h host.Host) (recording, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	gaps, err := collect.Write(ctx, z, h)
	if err = errors.Join(err, z.Close()); err != nil {
		return recording{}, err
	}
	return recording{b.Bytes(), len(gaps)}, nil
}

// endMeters are the meters of an end as seen from the other.
func endMeters(h host.Host, a fleet.Selection) []measure.Meter {
	return append([]measure.Meter{nic.Meter{Host: h, Interfaces: a.Interfaces}, cpu.Meter{Host: h}, irq.Meter{Host: h}, softnet.Meter{Host: h}}, ruleMeters(h, a)...)
}

// ruleMeters are those of the other end whose counts rules take for the link's.
func ruleMeters(h host.Host, a fleet.Selection) []measure.Meter {
	ms := []measure.Meter{nstat.Meter{Host: h}, conntrack.Meter{Host: h}}
	if len(a.Interfaces) > 0 {
		ms = append(ms, qdisc.Meter{Host: h, Interfaces: a.Interfaces, Sends: a.Sends})
	}
	return ms
}
