// Package conntrack reads how full the kernel's table of tracked connections
// is and how often a packet found no room in it.
package conntrack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

// Meter reads the table of a host's network namespace.
type Meter struct{ Host host.Host }

// Name returns "conntrack".
func (Meter) Name() string { return "conntrack" }

// Read returns result.ConntrackEntries by bound, and the packets that found no
// room as result.NetworkCounter "ConntrackFailed". A kernel without connection
// tracking has no values.
func (m Meter) Read(context.Context) ([]result.Value, error) {
	var vs []result.Value
	for _, f := range []struct{ file, bound string }{{"count", "now"}, {"max", "greatest"}, {"buckets", "buckets"}} {
		b, err := fs.ReadFile(m.Host, "proc/sys/net/netfilter/nf_conntrack_"+f.file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("conntrack: %w", err)
		}
		n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("conntrack: nf_conntrack_%s: %w", f.file, err)
		}
		vs = append(vs, result.ConntrackEntries.Of(float64(n), "bound", f.bound))
	}
	b, err := fs.ReadFile(m.Host, "proc/net/stat/nf_conntrack")
	if errors.Is(err, fs.ErrNotExist) {
		return vs, nil // a kernel without CONFIG_NF_CONNTRACK_PROCFS
	}
	if err != nil {
		return nil, fmt.Errorf("conntrack: %w", err)
	}
	failed, err := parse(string(b))
	if err != nil {
		return nil, fmt.Errorf("conntrack: proc/net/stat/nf_conntrack: %w", err)
	}
	return append(vs, result.NetworkCounter.Of(float64(failed), "counter", "ConntrackFailed")), nil
}

// parse adds up insert_failed, drop and early_drop of a table with a line of
// names and, for each core, one of hexadecimal numbers.
func parse(s string) (failed uint64, err error) {
	head, body, _ := strings.Cut(s, "\n")
	names := strings.Fields(head)
	for line := range strings.Lines(body) {
		f := strings.Fields(line)
		if len(f) > len(names) {
			return 0, fmt.Errorf("%d numbers under %d names", len(f), len(names))
		}
		for i, text := range f {
			switch names[i] {
			case "insert_failed", "drop", "early_drop":
				n, err := strconv.ParseUint(text, 16, 64)
				if err != nil {
					return 0, fmt.Errorf("%s: %w", names[i], err)
				}
				failed += n
			}
		}
	}
	return failed, nil
}
