// Package nic reads what network interfaces count: the kernel's totals
// (rtnl_link_stats64) and the driver's own statistics (ethtool -S).
package nic

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

// Meter reads the totals of interfaces. On virtual devices with GSO or GRO one
// counted frame may stand for many on a wire.
type Meter struct {
	Host       host.Host
	Interfaces []string // empty means every interface
}

// Name returns "nic".
func (Meter) Name() string { return "nic" }

// Read returns frames, bytes, errors and drops by interface and direction, and
// every other total as result.NICLinkStat.
func (m Meter) Read(context.Context) ([]result.Value, error) {
	names := m.Interfaces
	if len(names) == 0 {
		var err error
		if names, err = Interfaces(m.Host); err != nil {
			return nil, err
		}
	}
	var vs []result.Value
	for _, name := range names {
		stats, err := totals(m.Host, name)
		if err != nil {
			return nil, err
		}
		for _, s := range stats {
			vs = append(vs, value(name, s))
		}
	}
	return vs, nil
}

// Interfaces lists the interfaces of h.
func Interfaces(h host.Host) ([]string, error) {
	for _, dir := range []string{"link", "sys/class/net"} {
		es, err := fs.ReadDir(h, dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("nic: list interfaces: %w", err)
		}
		var names []string
		for _, e := range es {
			if e.Name() != "bonding_masters" { // the one file among the links
				names = append(names, e.Name())
			}
		}
		return names, nil
	}
	return nil, fmt.Errorf("nic: list interfaces: no link or sys/class/net: %w", fs.ErrNotExist)
}

// stat is one named counter.
type stat struct {
	name string
	n    uint64
}

// totals reads link/<if>/stats64, or on a recorded host that lacks it the same
// numbers from sys/class/net/<if>/statistics.
func totals(h host.Host, ifname string) ([]stat, error) {
	b, err := fs.ReadFile(h, "link/"+ifname+"/stats64")
	if err == nil {
		return parseStats(string(b))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("nic: %s: %w", ifname, err)
	}
	dir := "sys/class/net/" + ifname + "/statistics"
	es, err := fs.ReadDir(h, dir)
	if err != nil {
		return nil, fmt.Errorf("nic: no interface %s: %w", ifname, err)
	}
	var out []stat
	for _, e := range es {
		b, err := fs.ReadFile(h, dir+"/"+e.Name())
		if err != nil {
			return nil, fmt.Errorf("nic: %s: %w", ifname, err)
		}
		n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("nic: %s/%s: %w", dir, e.Name(), err)
		}
		out = append(out, stat{e.Name(), n})
	}
	return out, nil
}

// parseStats reads lines of a name, perhaps with a colon, and a number; names
// may hold spaces.
func parseStats(s string) ([]stat, error) {
	var out []stat
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			return nil, fmt.Errorf("nic: %q: want a name and a number", line[:min(len(line), 40)])
		}
		n, err := strconv.ParseUint(line[at+1:], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("nic: statistic %s: %w", line[:min(at, 40)], err)
		}
		out = append(out, stat{strings.TrimRight(line[:at], ": "), n})
	}
	return out, nil
}

// value files a total under its metric. rx_missed_errors (no buffer in the
// ring) is a drop of its own: the kernel keeps it out of rx_dropped.
func value(ifname string, s stat) result.Value {
	direction, what, _ := strings.Cut(s.name, "_")
	if direction == "rx" || direction == "tx" {
		switch what {
		case "packets":
			return result.NICFrames.Of(float64(s.n), "interface", ifname, "direction", direction)
		case "bytes":
			return result.NICBytes.Of(float64(s.n), "interface", ifname, "direction", direction)
		case "errors":
			return result.NICErrors.Of(float64(s.n), "interface", ifname, "direction", direction)
		case "dropped":
			return result.NICDropped.Of(float64(s.n), "interface", ifname, "direction", direction, "reason", "dropped")
		case "missed_errors":
			return result.NICDropped.Of(float64(s.n), "interface", ifname, "direction", direction, "reason", "missed")
		}
	}
	return result.NICLinkStat.Of(float64(s.n), "interface", ifname, "stat", s.name)
}

// Driver reads the statistics that the driver keeps (ethtool -S). It stands
// apart from Meter because many drivers keep none.
type Driver struct {
	Host       host.Host
	Interfaces []string
}

// Name returns "nic.driver".
func (Driver) Name() string { return "nic.driver" }

// Read returns result.NICStat by interface and stat.
func (d Driver) Read(context.Context) ([]result.Value, error) {
	var vs []result.Value
	for _, name := range slices.Sorted(slices.Values(d.Interfaces)) {
		b, err := fs.ReadFile(d.Host, "ethtool/"+name+"/stats")
		if err != nil {
			return nil, fmt.Errorf("nic.driver: %s: %w", name, err)
		}
		stats, err := parseStats(string(b))
		if err != nil {
			return nil, fmt.Errorf("nic.driver: %s: %w", name, err)
		}
		for _, s := range stats {
			vs = append(vs, result.NICStat.Of(float64(s.n), "interface", name, "stat", s.name))
		}
	}
	return vs, nil
}
