package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/explain/facts"
	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/meter/cpu"
	"github.com/linerate/linerate/internal/meter/irq"
	"github.com/linerate/linerate/internal/meter/nic"
	"github.com/linerate/linerate/internal/meter/nstat"
	"github.com/linerate/linerate/internal/meter/softnet"
	engine "github.com/linerate/linerate/internal/run"
	"github.com/linerate/linerate/result"
)

// kindOf tells what a file is by its name: a recorded host, facts, a capture,
// or else a result.
func kindOf(name string) string {
	if st, err := os.Stat(name); err == nil && st.IsDir() {
		return "host"
	}
	base := strings.ToLower(filepath.Base(name))
	for _, packed := range []string{".gz", ".zst", ".xz"} {
		base = strings.TrimSuffix(base, packed)
	}
	switch filepath.Ext(base) {
	case ".tar", ".tgz", ".txtar":
		return "host"
	case ".yaml", ".yml":
		return "facts"
	case ".pcap", ".pcapng", ".cap", ".snoop":
		return "capture"
	}
	return "result"
}

// readFacts reads facts from a file, or from the standard input for "-".
func readFacts(c cli, name string) (*result.Result, error) {
	in := c.in
	at := time.Now()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if st, err := f.Stat(); err == nil {
			at = st.ModTime()
		}
		in = f
	}
	r, err := facts.Decode(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.Start = at.UTC()
	r.ID = result.NewID(r.Start)
	return r, nil
}

// readHosts makes a result of a recorded host; of two recordings of one box
// the counters' growth from the first to the last.
func readHosts(ctx context.Context, names []string, ifname string) (*result.Result, error) {
	if len(names) > 2 {
		return nil, usagef("explain takes one or two recordings of a host, not %d", len(names))
	}
	var before []result.Value
	var from time.Duration
	r := &result.Result{Origin: result.Imported, Ending: result.Completed, Workload: result.Workload{Kind: "host"}, Start: time.Now().UTC()}
	r.ID = result.NewID(r.Start)
	for i, name := range names {
		h, err := host.Open(name)
		if err != nil {
			return nil, err
		}
		port, err := portOf(h, ifname)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		up := uptime(h)
		values, gaps := counters(ctx, h, port)
		if i == 0 && len(names) == 2 {
			before, from = values, up
			continue
		}
		r.Totals, r.Duration, r.Gaps = values, up, gaps
		if before != nil {
			if up <= from {
				return nil, fmt.Errorf("%s was recorded before %s, or the box restarted between: give the earlier first", name, names[0])
			}
			r.Totals, r.Duration = result.Delta(before, values), up-from
		} else {
			r.Gaps = append(r.Gaps, result.Gap{Source: "recording", Reason: "there is one: counters since the box started; a second, after the test, gives those of the test"})
		}
		r.Totals = append(r.Totals, facts.FromFiles(h, port)...)
		described, settings := host.Describe(h, port)
		r.Ends = []result.End{{Role: "dut", Host: name, Facts: described, Settings: settings}}
	}
	return r, nil
}

// counters reads what bears on explanations; a meter that finds nothing leaves
// a gap.
func counters(ctx context.Context, h host.Host, ifname string) ([]result.Value, []result.Gap) {
	ports := []string{ifname}
	var values []result.Value
	var gaps []result.Gap
	for _, m := range []engine.Meter{cpu.Meter{Host: h}, cpu.Clock{Host: h}, irq.Meter{Host: h}, softnet.Meter{Host: h}, nstat.Meter{Host: h},
		nic.Meter{Host: h, Interfaces: ports}, nic.Driver{Host: h, Interfaces: ports}} {
		vs, err := m.Read(ctx)
		if err != nil {
			gaps = append(gaps, result.Gap{Source: m.Name(), Reason: err.Error()})
			continue
		}
		values = append(values, vs...)
	}
	return values, gaps
}

// portOf returns the interface to judge: the one named, or else the first that
// has a speed, or else the first there is.
func portOf(h host.Host, name string) (string, error) {
	all, err := nic.Interfaces(h)
	if err != nil {
		return "", err
	}
	if name != "lo" {
		all = slices.DeleteFunc(all, func(n string) bool { return n == "lo" })
	}
	switch {
	case name != "" && !slices.Contains(all, name):
		return "", usagef("no interface %s in the recording; it has %s", name, strings.Join(all, ", "))
	case name != "":
		return name, nil
	case len(all) == 0:
		return "", errors.New("no interface in the recording but lo")
	}
	described, _ := host.Describe(h, all...)
	for _, n := range all {
		if described["speed@"+n] != "" {
			return n, nil
		}
	}
	return all[0], nil
}

// uptime reads how long the box had run.
func uptime(h host.Host) time.Duration {
	b, _ := fs.ReadFile(h, "proc/uptime")
	first, _, _ := strings.Cut(string(b), " ")
	s, err := strconv.ParseFloat(strings.TrimSpace(first), 64)
	if err != nil {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}
