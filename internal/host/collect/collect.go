// Package collect copies the counters and settings of a host into a tar that
// host.Open reads, from Go or, on a box where Go does not run, by a shell
// script that makes the same tree.
package collect

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/host/ethtool"
	"github.com/linerate/linerate/result"
)

// maxFile bounds one copied file; counters and settings are far smaller.
const maxFile = 4 << 20

// patterns lists what is copied as the kernel has it, for the script's shell
// too, so only "*" stands in them. The tree names no user, no process but what
// owns interrupts, and of addresses only those of interfaces, and in sockdiag
// those of open connections.
func patterns() []string {
	return strings.Fields(`
		proc/stat proc/cpuinfo proc/meminfo proc/interrupts proc/softirqs proc/version proc/uptime proc/loadavg proc/config.gz
		proc/device-tree/model
		proc/net/dev proc/net/softnet_stat proc/net/snmp proc/net/netstat proc/net/sockstat proc/net/xfrm_stat
		proc/net/stat/nf_conntrack
		proc/sys/kernel/osrelease proc/sys/kernel/arch proc/sys/kernel/perf_event_paranoid
		proc/sys/net/core/* proc/sys/net/ipv4/tcp_* proc/sys/net/ipv4/udp_* proc/sys/net/ipv4/ip_forward
		proc/sys/net/ipv4/ip_early_demux proc/sys/net/netfilter/nf_conntrack_max proc/sys/net/netfilter/nf_conntrack_count
		proc/sys/net/netfilter/nf_conntrack_buckets
		proc/irq/*/smp_affinity proc/irq/*/smp_affinity_list proc/irq/*/effective_affinity_list
		sys/bus/*/devices/*/net/*/ifindex
		sys/class/net/*/mtu sys/class/net/*/speed sys/class/net/*/duplex sys/class/net/*/carrier_changes
		sys/class/net/*/tx_queue_len sys/class/net/*/gso_max_size sys/class/net/*/gro_max_size
		sys/class/net/*/gro_flush_timeout sys/class/net/*/napi_defer_hard_irqs sys/class/net/*/threaded
		sys/class/net/*/device/numa_node sys/class/net/*/device/current_link_speed sys/class/net/*/device/current_link_width
		sys/class/net/*/device/max_link_speed sys/class/net/*/device/max_link_width
		sys/class/net/*/queues/*/rps_cpus sys/class/net/*/queues/*/rps_flow_cnt sys/class/net/*/queues/*/xps_cpus
		sys/class/net/*/queues/*/byte_queue_limits/limit sys/class/net/*/queues/*/byte_queue_limits/inflight
		sys/devices/system/cpu/online sys/devices/system/cpu/cpu*/cpufreq/scaling_governor
		sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq sys/devices/system/cpu/cpu*/cpufreq/scaling_min_freq
		sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_max_freq
		sys/devices/system/cpu/cpu*/cpuidle/*/name sys/devices/system/cpu/cpu*/cpuidle/*/latency
		sys/devices/system/clocksource/clocksource0/current_clocksource
		sys/devices/system/clocksource/clocksource0/available_clocksource
		sys/module/pcie_aspm/parameters/policy`)
}

// secret tells files that hold keys, such as tcp_fastopen_key, from others; the
// script leaves out the same.
func secret(name string) bool { return strings.HasSuffix(name, "_key") }

// linkFiles are what the tree below link/ has of each interface; the script
// takes them from sysfs.
func linkFiles() []string {
	return []string{"stats64", "mtu", "tx_queue_len", "address", "operstate"}
}

// Write copies h into a tar on w. What could not be read comes back as gaps,
// and stands in the tar as the file "gaps".
func Write(ctx context.Context, w io.Writer, h host.Host) ([]result.Gap, error) {
	names, err := list(h)
	if err != nil {
		return nil, fmt.Errorf("collect: %w", err)
	}
	out := tar.NewWriter(w)
	var gaps []result.Gap
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return gaps, fmt.Errorf("collect: %w", context.Cause(ctx))
		}
		b, err := readFile(h, name)
		if err != nil {
			gaps = append(gaps, result.Gap{Source: name, Reason: reason(err)})
			continue
		}
		if err := add(out, name, b); err != nil {
			return gaps, fmt.Errorf("collect: %w", err)
		}
	}
	var text bytes.Buffer
	for _, g := range gaps {
		fmt.Fprintf(&text, "%s: %s\n", g.Source, g.Reason)
	}
	if err := errors.Join(add(out, "gaps", text.Bytes()), out.Close()); err != nil {
		return gaps, fmt.Errorf("collect: %w", err)
	}
	return gaps, nil
}

// list expands the patterns on h and adds the synthetic parts.
func list(h host.Host) ([]string, error) {
	var names []string
	for _, p := range patterns() {
		some, err := fs.Glob(h, p)
		if err != nil {
			return nil, err
		}
		names = append(names, slices.DeleteFunc(some, secret)...)
	}
	links, err := fs.ReadDir(h, "sys/class/net")
	if err != nil {
		return nil, err
	}
	for _, l := range links {
		if l.Name() == "bonding_masters" {
			continue
		}
		for _, f := range linkFiles() {
			names = append(names, "link/"+l.Name()+"/"+f)
		}
		for _, f := range ethtool.Files() {
			names = append(names, "ethtool/"+l.Name()+"/"+f)
		}
	}
	names = append(names, "sockdiag/tcp")
	slices.Sort(names)
	return slices.Compact(names), nil
}

func readFile(h host.Host, name string) ([]byte, error) {
	b, err := fs.ReadFile(h, name)
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("more than %d MiB", maxFile>>20)
	}
	return b, err
}

// reason is the cause of a failed read without the name, which stands beside it.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

func add(w *tar.Writer, name string, b []byte) error {
	err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(b)), ModTime: time.Now().Truncate(time.Second)})
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}
