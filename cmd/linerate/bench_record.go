package main

import (
	"context"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/linerate/linerate/internal/explain/facts"
	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/meter/cpu"
	"github.com/linerate/linerate/internal/meter/nic"
	"github.com/linerate/linerate/internal/meter/qdisc"
	"github.com/linerate/linerate/internal/meter/tcpinfo"
	measure "github.com/linerate/linerate/internal/run"
	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/result"
)

// record runs one test with the host's meters, and more of the caller's, beside it.
func record(ctx context.Context, d stream.Dialect, target string, t stream.Test, every time.Duration, more ...measure.Meter) (*result.Result, stream.Outcome, error) {
	sockets := &tcpinfo.Sockets{}
	_, ifname := localInterface(withPort(target, 1))
	w := &stream.Client{Test: t, Dialect: d, Peer: target}
	if t.Protocol == stream.TCP {
		w.Track = func(i int, s *stream.Stream) func() {
			if c, ok := s.Conn.(syscall.Conn); ok {
				if stop, err := sockets.Track("stream "+strconv.Itoa(i+1), c); err == nil {
					return stop
				}
			}
			return func() {}
		}
	}
	r, err := measure.Record(ctx, w, measure.Options{
		Every: every, Meters: append(append(sending(t.Direction != stream.Receive, ftpMeters(ifname)), sockets), more...), Ends: []result.End{thisEnd("tester", ifname), {Role: "dut", Host: target}},
		Totals: func(r *result.Result) []result.Value {
			return slices.Concat(w.Outcome().Values(), observed(t), grown(r))
		},
	})
	o := w.Outcome()
	if r != nil && o.Group != nil {
		if o.Remote == nil {
			r.Gaps = append(r.Gaps, result.Gap{Source: "stream", Reason: "the peer gave no results: what it received is not known"})
		}
		// Figures cover the time that payload moved, not the set-up before it.
		r.Duration = o.Own.Elapsed
	}
	return r, o, err
}

// observed says of a test what rules ask of an application.
func observed(t stream.Test) []result.Value {
	see := func(key, word string) result.Value {
		f, _ := facts.Find(key)
		return f.Seen(word, true)
	}
	vs := []result.Value{see("protocol", string(t.Protocol)), result.WriteSize.Of(float64(t.Message)), result.StreamsTried.Of(float64(t.Parallel))}
	s := t.Socket
	if s.Window > 0 || s.SendBuffer > 0 || s.RecvBuffer > 0 {
		vs = append(vs, see("tcp.buffer-set", "yes"))
	}
	if t.Transactions() {
		vs = append(vs, see("irq.latency-bound", "yes"))
	}
	return vs
}

// sending tells the meter of the queue whether payload leaves by it.
func sending(sends bool, meters []measure.Meter) []measure.Meter {
	for i, m := range meters {
		if q, ok := m.(qdisc.Meter); ok {
			q.Sends = sends
			meters[i] = q
		}
	}
	return meters
}

// hostMeters reads this host beside a workload, where it can be read.
func hostMeters() []measure.Meter {
	h, err := host.Live()
	if err != nil {
		return nil
	}
	return []measure.Meter{cpu.Meter{Host: h}, cpu.Process{Host: h, PID: os.Getpid()}, nic.Meter{Host: h}}
}

// grown returns what the meters counted from the first reading to the last.
// Counters that stood still are left out, so are those of our own overhead; the
// readings have them all.
func grown(r *result.Result) []result.Value {
	readings := r.ReadingsAt("")
	if len(readings) < 2 {
		return nil
	}
	first, last := readings[0].Values, readings[len(readings)-1].Values
	vs := result.Delta(first, last)
	for _, v := range last {
		// Connections of ours begin after the first reading, at nothing; so do the
		// counts of an interface that had not been polled yet.
		m, _ := result.Lookup(v.Metric)
		begins := v.Labels["flow"] != "" || strings.HasPrefix(v.Metric, "napi_")
		known := slices.ContainsFunc(first, func(x result.Value) bool { return x.Metric == v.Metric && maps.Equal(x.Labels, v.Labels) })
		if begins && m.Kind == result.Counter && !known {
			vs = append(vs, v)
		}
	}
	return slices.DeleteFunc(vs, func(v result.Value) bool {
		m, known := result.Lookup(v.Metric)
		return v.Metric == result.MeterCost.Name || known && m.Kind == result.Counter && v.V == 0
	})
}
