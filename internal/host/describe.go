package host

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Describe tells what a host is (facts: kernel, CPU, and by interface driver,
// speed and so on, "driver@eth0") and how it is set (settings by lever ID:
// "sysctl.net.ipv4.tcp_rmem", "link.mtu@eth0", "ethtool.features.tso@eth0"),
// for result.End. What the host does not have is left out.
func Describe(h Host, interfaces ...string) (facts, settings map[string]string) {
	d := describer{h, map[string]string{}, map[string]string{}}
	d.box()
	for _, name := range sysctls() {
		d.set("sysctl."+name, "proc/sys/"+strings.ReplaceAll(name, ".", "/"))
	}
	d.glob("cpu.", ".scaling_governor", "sys/devices/system/cpu/cpu", "/cpufreq/scaling_governor")
	for _, ifname := range interfaces {
		d.link(ifname)
	}
	return d.facts, d.settings
}

type describer struct {
	h               Host
	facts, settings map[string]string
}

// line returns a file as one line, fields separated by one space.
func line(h fs.FS, name string) string {
	b, err := fs.ReadFile(h, name)
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(strings.TrimRight(string(b), "\x00")), " ")
}

func (d describer) fact(key, value string) {
	if value != "" && value != "unknown" {
		d.facts[key] = value
	}
}

func (d describer) set(id, name string) {
	if v := line(d.h, name); v != "" {
		d.settings[id] = v
	}
}

// glob sets one lever for each file whose name has something between before
// and after, which then stands in the middle of the ID too.
func (d describer) glob(id, idAfter, before, after string) {
	names, _ := fs.Glob(d.h, before+"*"+after) // the pattern is well formed
	for _, n := range names {
		d.set(id+strings.TrimSuffix(strings.TrimPrefix(n, before), after)+idAfter, n)
	}
}

// box fills in the facts of the whole machine.
func (d describer) box() {
	d.fact("kernel", line(d.h, "proc/sys/kernel/osrelease"))
	if d.facts["kernel"] == "" { // "Linux version 3.14.2-xilinx (...)"
		if f := strings.Fields(line(d.h, "proc/version")); len(f) > 2 {
			d.fact("kernel", f[2])
		}
	}
	d.fact("architecture", line(d.h, "proc/sys/kernel/arch"))
	d.fact("board", line(d.h, "proc/device-tree/model"))
	d.fact("cpus", line(d.h, "sys/devices/system/cpu/online"))
	d.fact("clocksource", line(d.h, "sys/devices/system/clocksource/clocksource0/current_clocksource"))
	_, policy, _ := strings.Cut(line(d.h, "sys/module/pcie_aspm/parameters/policy"), "[") // the one in force is in brackets
	policy, _, _ = strings.Cut(policy, "]")
	d.fact("pcie power saving", policy)
	b, _ := fs.ReadFile(d.h, "proc/cpuinfo")
	cpu := pairs(string(b))
	for _, key := range []string{"model name", "cpu model", "Processor", "uarch", "cpu"} { // x86 and Arm, MIPS, old Arm, RISC-V, PowerPC
		if d.facts["cpu"] == "" {
			d.fact("cpu", cpu[key])
		}
	}
	if strings.Contains(" "+cpu["flags"]+" ", " hypervisor ") {
		d.fact("virtual machine", "yes")
	}
	b, _ = fs.ReadFile(d.h, "proc/meminfo")
	d.fact("memory", pairs(string(b))["MemTotal"])
}

// pairs reads "key: value" lines; the first of a key counts.
func pairs(s string) map[string]string {
	out := map[string]string{}
	for l := range strings.Lines(s) {
		k, v, ok := strings.Cut(l, ":")
		k = strings.TrimSpace(k)
		if _, seen := out[k]; ok && !seen {
			out[k] = strings.TrimSpace(v)
		}
	}
	return out
}

// link fills in one interface.
func (d describer) link(ifname string) {
	sys := "sys/class/net/" + ifname + "/"
	of := func(id string) string { return id + "@" + ifname }
	b, _ := fs.ReadFile(d.h, "ethtool/"+ifname+"/driver")
	drv := pairs(string(b))
	d.fact(of("driver"), drv["driver"])
	d.fact(of("driver version"), drv["version"])
	d.fact(of("firmware"), drv["firmware-version"])
	d.fact(of("bus"), drv["bus-info"])
	for _, f := range []struct{ fact, file string }{
		{"numa node", "numa_node"}, {"pcie speed", "current_link_speed"}, {"pcie width", "current_link_width"},
		{"pcie speed max", "max_link_speed"}, {"pcie width max", "max_link_width"},
	} {
		d.fact(of(f.fact), line(d.h, sys+"device/"+f.file))
	}

	b, _ = fs.ReadFile(d.h, "ethtool/"+ifname+"/link")
	state := pairs(string(b))
	speed, duplex := state["speed"], state["duplex"]
	if speed == "" {
		speed, duplex = line(d.h, sys+"speed"), line(d.h, sys+"duplex")
	}
	if speed != "" && speed != "unknown" && !strings.HasPrefix(speed, "-") {
		d.fact(of("speed"), speed+"Mbit/s")
	}
	d.fact(of("duplex"), duplex)
	d.fact(of("autonegotiation"), state["autoneg"])
	d.fact(of("peer modes"), state["peer"])
	for _, key := range []string{"qdisc", "kind", "operstate"} {
		d.fact(of(key), line(d.h, "link/"+ifname+"/"+key))
	}
	d.settingsOf(ifname, sys)
}

func (d describer) settingsOf(ifname, sys string) {
	of := "@" + ifname
	for _, key := range []string{"mtu", "tx_queue_len", "gso_max_size", "gro_max_size"} {
		d.set("link."+key+of, sys+key)
		d.set("link."+key+of, "link/"+ifname+"/"+key)
	}
	for _, key := range []string{"gro_flush_timeout", "napi_defer_hard_irqs", "threaded"} {
		d.set("link."+key+of, sys+key)
	}
	for _, key := range []string{"rps_cpus", "rps_flow_cnt", "xps_cpus"} {
		d.glob("queue.", "."+key+of, sys+"queues/", "/"+key)
	}
	offloads := []string{"rx", "tx", "sg", "tso", "gso", "gro", "lro", "rxhash", "rx-gro-hw", "rx-gro-list", "rx-udp-gro-forwarding", "tx-udp-segmentation"}
	for _, file := range []string{"coalesce", "rings", "channels", "pause", "eee", "features"} {
		b, err := fs.ReadFile(d.h, "ethtool/"+ifname+"/"+file)
		if err != nil {
			continue
		}
		for k, v := range pairs(string(b)) {
			if strings.HasSuffix(k, "-max") || k == "active" || file == "features" && !slices.Contains(offloads, k) {
				continue // not settings, or offloads that no link is slow for
			}
			d.settings["ethtool."+file+"."+k+of] = v
		}
	}
	d.interrupts(ifname)
}

// interrupts sets the levers of the lines that an interface's device, or a
// driver that names lines after the interface, uses.
func (d describer) interrupts(ifname string) {
	names := []string{ifname}
	devices, _ := fs.Glob(d.h, "sys/bus/*/devices/*/net/"+ifname+"/ifindex") // the pattern is well formed
	for _, dev := range devices {
		names = append(names, strings.Split(dev, "/")[4]) // "virtio2", "e000b000.ethernet"
	}
	b, _ := fs.ReadFile(d.h, "proc/interrupts")
	for l := range strings.Lines(string(b)) {
		n, rest, _ := strings.Cut(l, ":")
		n = strings.TrimSpace(n)
		for _, word := range strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' }) {
			if slices.ContainsFunc(names, func(name string) bool { return word == name || strings.HasPrefix(word, name+"-") }) {
				d.set("irq."+n+".smp_affinity_list", path.Join("proc/irq", n, "smp_affinity_list"))
			}
		}
	}
}

// sysctls lists the kernel parameters that bear on a link's rate.
func sysctls() []string {
	var out []string
	for _, group := range []struct{ prefix, names string }{
		{"net.ipv4.", "tcp_rmem tcp_wmem tcp_mem udp_mem tcp_congestion_control tcp_window_scaling tcp_adv_win_scale tcp_timestamps tcp_sack tcp_moderate_rcvbuf tcp_autocorking " +
			"tcp_limit_output_bytes tcp_notsent_lowat tcp_slow_start_after_idle tcp_no_metrics_save tcp_mtu_probing tcp_backlog_ack_defer tcp_shrink_window ip_forward"},
		{"net.core.", "rmem_max wmem_max rmem_default wmem_default default_qdisc netdev_max_backlog netdev_budget netdev_budget_usecs dev_weight gro_normal_batch rps_sock_flow_entries busy_poll busy_read"},
		{"net.netfilter.", "nf_conntrack_max nf_conntrack_buckets"},
	} {
		for _, n := range strings.Fields(group.names) {
			out = append(out, group.prefix+n)
		}
	}
	return out
}
