package lever

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/linerate/linerate/internal/host"
)

// ErrNoLever is wrapped by Find's error for an ID that names no setting.
var ErrNoLever = errors.New("no such setting")

// family is a group of settings that live in one place of the host's tree. ID
// and path share their wildcards: "$1" stands for the first group of the ID's
// pattern, "$if" for the interface after the @.
type family struct {
	id     string // anchored regular expression, without the interface
	path   string
	key    string // the line's key in a "key: value" file; empty: the whole file
	perIf  bool
	help   string
	trade  string
	place  Persistence
	fatal  bool // a wrong value can cut the interface off
	source string
}

// catalogue lists every family, in the order `tune show` prints them.
func catalogue() []family {
	return []family{
		{id: `sysctl\.(.+)`, path: "proc/sys/$1", help: "kernel parameter", trade: "memory or latency for throughput, by parameter", place: Sysctl, source: "ip-sysctl"},
		{id: `link\.mtu`, path: "link/$if/mtu", perIf: true, help: "bytes of payload a frame may carry", trade: "every host and switch of the segment must agree", place: Link, fatal: true, source: "netdevice(7)"},
		{id: `link\.(tx_queue_len|gso_max_size|gro_max_size)`, path: "link/$if/$1", perIf: true, help: "frames the queueing discipline may hold; greatest super-segment", trade: "latency for fewer drops", place: Udev, source: "sysfs-class-net"},
		{id: `link\.(gro_flush_timeout|napi_defer_hard_irqs)`, path: "sys/class/net/$if/$1", perIf: true, help: "software interrupt coalescing (ns; empty polls)", trade: "up to the timeout of added delay; below 2 packet gaps it only costs", place: Udev, source: "napi"},
		{id: `link\.(threaded)`, path: "sys/class/net/$if/$1", perIf: true, help: "poll in a kernel thread of its own", trade: "a context switch per poll for a core of one's own choice", place: Udev, source: "napi"},
		{id: `queue\.(rx-\d+)\.(rps_cpus|rps_flow_cnt)`, path: "sys/class/net/$if/queues/$1/$2", perIf: true, help: "receive packet steering", trade: "an interprocessor interrupt and cold caches for more cores", place: Udev, source: "scaling"},
		{id: `queue\.(tx-\d+)\.(xps_cpus)`, path: "sys/class/net/$if/queues/$1/$2", perIf: true, help: "transmit packet steering", trade: "", place: Udev, source: "scaling"},
		{id: `queue\.(tx-\d+)\.(limit|limit_min|limit_max)`, path: "sys/class/net/$if/queues/$1/byte_queue_limits/$2", perIf: true, help: "byte queue limits", trade: "latency for a transmitter that never idles", place: Udev, source: "sysfs-class-net-queues"},
		{id: `irq\.(\d+)\.(smp_affinity|smp_affinity_list)`, path: "proc/irq/$1/$2", help: "cores an interrupt may go to", trade: "irqbalance may override it", place: Unit, source: "IRQ-affinity"},
		{id: `cpu\.(\d+)\.(scaling_governor|scaling_min_freq)`, path: "sys/devices/system/cpu/cpu$1/cpufreq/$2", help: "clock of a core", trade: "power and heat", place: Unit, source: "cpufreq"},
		{id: `cpu\.(\d+)\.(state\d+)\.disable`, path: "sys/devices/system/cpu/cpu$1/cpuidle/$2/disable", help: "keep a core out of an idle state", trade: "power and heat", place: Unit, source: "cpuidle"},
		{id: `cpu\.(\d+)\.(pm_qos_resume_latency_us)`, path: "sys/devices/system/cpu/cpu$1/power/$2", help: "longest way back from idle that a core may take (us; n/a: none at all)", trade: "power and heat", place: Unit, source: "sysfs-devices-power"},
		{id: `process\.(\d+)\.(cpus)`, path: "process/$1/$2", help: "cores that a program may run on, as a mask", trade: "they serve nobody else so well; lost when the program ends", place: Session, source: "taskset(1)"},
		{id: `qdisc\.(root)`, path: "qdisc/$if/$1", perIf: true, help: "queueing discipline: noqueue, pfifo_fast, pfifo, bfifo, fq, fq_codel, with parameters", trade: "a deep queue delays; packets waiting in the old one are lost", place: Unit, source: "tc(8)"},
		{id: `queue\.(tx-\d+)\.(xps_rxqs)`, path: "sys/class/net/$if/queues/$1/$2", perIf: true, help: "transmit queue by receive queue", trade: "", place: Udev, source: "scaling"},
		{id: `ethtool\.(coalesce|rings|channels|features|pause|eee)\.([a-zA-Z0-9_-]+)`, path: "ethtool/$if/$1", key: "$2", perIf: true, help: "setting of the driver", trade: "rings and channels restart the interface on most drivers", place: Link, fatal: true, source: "ethtool(8)"},
	}
}

// Setting is a Lever with what a person should know before turning it.
type Setting struct {
	Lever
	Help, Trade string
	Source      string
	Place       Persistence
	Interface   string // "" where it belongs to the whole box
	Cuts        bool   // a wrong value can cut the interface off
}

// Find returns the setting with this ID on h.
func Find(h host.Host, id string) (Setting, error) {
	name, ifname, _ := strings.Cut(id, "@")
	for _, f := range catalogue() {
		m := regexp.MustCompile("^" + f.id + "$").FindStringSubmatch(name)
		if m == nil {
			continue
		}
		if f.perIf != (ifname != "") {
			if f.perIf {
				return Setting{}, fmt.Errorf("%s: which interface? write %s@eth0: %w", id, id, ErrNoLever)
			}
			return Setting{}, fmt.Errorf("%s: belongs to the whole box, not to an interface: %w", id, ErrNoLever)
		}
		return f.setting(h, id, ifname, m)
	}
	return Setting{}, fmt.Errorf("%s: %w; 'linerate tune show' lists what there is", id, ErrNoLever)
}

func (f family) setting(h host.Host, id, ifname string, groups []string) (Setting, error) {
	for _, g := range append(groups[1:], ifname) {
		if strings.Contains(g, "..") || strings.HasPrefix(g, "/") || strings.Contains(ifname, "/") {
			return Setting{}, fmt.Errorf("%s: %w", id, ErrNoLever)
		}
	}
	fill := func(s string) string {
		s = strings.ReplaceAll(s, "$if", ifname)
		for i, g := range groups[1:] {
			if f.place == Sysctl {
				// sysctl(8): dots separate, a slash stands for a dot in a name.
				g = strings.NewReplacer(".", "/", "/", ".").Replace(g)
			}
			s = strings.ReplaceAll(s, fmt.Sprintf("$%d", i+1), g)
		}
		return s
	}
	s := Setting{Help: f.help, Trade: f.trade, Source: f.source, Place: f.place, Interface: ifname, Cuts: f.fatal}
	s.Lever = File{Name: id, Path: fill(f.path), Host: h}
	if f.key != "" {
		s.Lever = Line{Name: id, Path: fill(f.path), Key: fill(f.key), Host: h}
	}
	return s, nil
}
