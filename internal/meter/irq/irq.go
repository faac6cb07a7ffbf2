// Package irq reads how often each interrupt line and each softirq ran on each
// core. Under NAPI a network interrupt stays masked while frames are polled,
// so interrupts alone do not tell the load.
package irq

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

// Meter reads the interrupts and softirqs of a host.
type Meter struct{ Host host.Host }

// Name returns "irq".
func (Meter) Name() string { return "irq" }

// Read returns result.Interrupts by irq, device and cpu, and result.Softirqs
// by softirq and cpu. A line that never fired is left out.
func (m Meter) Read(context.Context) ([]result.Value, error) {
	hard, err := m.read("proc/interrupts")
	if err != nil {
		return nil, err
	}
	soft, err := m.read("proc/softirqs")
	if err != nil {
		return nil, err
	}
	var vs []result.Value
	for _, r := range hard {
		for i, n := range r.counts {
			if r.fired {
				vs = append(vs, result.Interrupts.Of(float64(n), "irq", r.name, "device", device(r), "cpu", r.cpus[i]))
			}
		}
	}
	for _, r := range soft {
		for i, n := range r.counts {
			vs = append(vs, result.Softirqs.Of(float64(n), "softirq", r.name, "cpu", r.cpus[i]))
		}
	}
	return vs, nil
}

func (m Meter) read(name string) ([]row, error) {
	b, err := fs.ReadFile(m.Host, name)
	if err != nil {
		return nil, fmt.Errorf("irq: %w", err)
	}
	rows, err := parse(string(b))
	if err != nil {
		return nil, fmt.Errorf("irq: %s: %w", name, err)
	}
	return rows, nil
}

// row is one line of /proc/interrupts or /proc/softirqs.
type row struct {
	name   string
	cpus   []string // numbers of the cores online, shared by all rows
	counts []uint64 // one a core
	rest   []string // controller, line and device, or what it is for
	fired  bool
}

// parse reads a table whose first line names cores and whose others begin with
// "name:". Lines with one count for the whole machine (ERR, MIS) are left out.
func parse(s string) ([]row, error) {
	head, body, _ := strings.Cut(s, "\n")
	var cpus []string
	for _, f := range strings.Fields(head) {
		n, ok := strings.CutPrefix(f, "CPU")
		if _, err := strconv.ParseUint(n, 10, 32); !ok || err != nil {
			return nil, fmt.Errorf("first line has %q, want CPU0 and so on", f)
		}
		cpus = append(cpus, n)
	}
	if len(cpus) == 0 {
		return nil, fmt.Errorf("no cores on the first line")
	}
	var rows []row
	for line := range strings.Lines(body) {
		name, rest, ok := strings.Cut(line, ":")
		f := strings.Fields(rest)
		if !ok || len(f) < len(cpus) {
			continue
		}
		r := row{name: strings.TrimSpace(name), cpus: cpus, rest: f[len(cpus):]}
		for _, c := range f[:len(cpus)] {
			n, err := strconv.ParseUint(c, 10, 64)
			if err != nil {
				r.counts = nil // one count and words after it
				break
			}
			r.counts = append(r.counts, n)
			r.fired = r.fired || n > 0
		}
		if r.counts != nil {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// device tells what an interrupt is for: the words after controller and line
// for a numbered one, which are the last and those before it that end in a
// comma where it is shared; all words for one that the architecture names.
func device(r row) string {
	if _, err := strconv.Atoi(r.name); err != nil {
		return strings.Join(r.rest, " ")
	}
	at := len(r.rest) - 1
	for at > 0 && strings.HasSuffix(r.rest[at-1], ",") {
		at--
	}
	return strings.Join(r.rest[max(at, 0):], " ")
}
