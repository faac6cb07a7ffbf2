package byhand

import (
	"fmt"
	"strings"

	"github.com/linerate/linerate/result"
)

func linux() []rule {
	const boot = "until the next boot; eth0 stands for the interface towards the other end"
	ethtool := func(flag string, undo string) func(result.Advice) Instruction {
		return func(a result.Advice) Instruction {
			return Instruction{Do: lines("ethtool %s eth0 %s %s", flag, key(a), a.Value), Undo: lines("%s", undo), Note: boot, Ref: "ethtool(8)"}
		}
	}
	write := func(path string) func(result.Advice) Instruction {
		return func(a result.Advice) Instruction {
			return Instruction{Do: lines("cat %[1]s   # note it\necho %[2]s >%[1]s", path, a.Value), Undo: lines("echo the value noted >%s", path), Note: boot, Ref: "sysfs"}
		}
	}
	return []rule{
		{[]string{"sysctl."}, func(a result.Advice) Instruction {
			name := strings.TrimPrefix(a.Lever, "sysctl.")
			value := a.Value
			if strings.HasPrefix(value, "twice") {
				value = "TWICE WHAT IT IS"
			}
			return Instruction{Do: lines("sysctl %[1]s   # note it\nsysctl -w %[1]s='%[2]s'\necho '%[1]s = %[2]s' >>/etc/sysctl.d/90-linerate.conf   # for good", name, value),
				Undo: lines("sysctl -w %s='the value noted'\nrm /etc/sysctl.d/90-linerate.conf", name), Ref: "sysctl(8)"}
		}},
		{[]string{"stack.receive-window", "ftp.receive-buffer"}, fixed("ip-sysctl", "a program that sets SO_RCVBUF itself is not tuned", lines("sysctl -w net.ipv4.tcp_rmem='4096 131072 16777216'"), lines("sysctl -w net.ipv4.tcp_rmem='4096 131072 6291456'"))},
		{[]string{"ethtool.coalesce."}, ethtool("-C", "ethtool -C eth0 with the values that ethtool -c eth0 showed before")},
		{[]string{"ethtool.rings."}, ethtool("-G", "ethtool -G eth0 with the values that ethtool -g eth0 showed before")},
		{[]string{"ethtool.features."}, ethtool("-K", "the same with on and off exchanged")},
		{[]string{"ethtool.channels."}, ethtool("-L", "ethtool -L eth0 with the values that ethtool -l eth0 showed before")},
		{[]string{"ethtool.pause."}, ethtool("-A", "ethtool -A eth0 with the values that ethtool -a eth0 showed before")},
		{[]string{"ethtool.eee.eee"}, ethtool("--set-eee", "ethtool --set-eee eth0 eee on")},
		{[]string{"phy.autoneg"}, fixed("ethtool(8)", "at both ends", lines("ethtool -s eth0 autoneg on"), lines("ethtool -s eth0 with what ethtool eth0 showed before"))},
		{[]string{"link.mtu"}, func(a result.Advice) Instruction {
			return Instruction{Do: lines("ip link set dev eth0 mtu %s", number(a, "1500")), Undo: lines("ip link set dev eth0 mtu 1500"), Note: "every host and switch between must take it", Ref: "ip-link(8)"}
		}},
		{[]string{"link.tx_queue_len"}, func(a result.Advice) Instruction {
			return Instruction{Do: lines("ip link set dev eth0 txqueuelen %s", a.Value), Undo: lines("ip link set dev eth0 txqueuelen 1000"), Ref: "ip-link(8)"}
		}},
		{[]string{"link."}, func(a result.Advice) Instruction { return write("/sys/class/net/eth0/" + key(a))(a) }},
		{[]string{"queue.rx-0.rps_cpus"}, write("/sys/class/net/eth0/queues/rx-0/rps_cpus")},
		{[]string{"irq.N.smp_affinity"}, fixed("linux IRQ-affinity", "stop irqbalance first", lines("grep eth0 /proc/interrupts   # N is the first column\necho 0 >/proc/irq/N/smp_affinity_list   # the next line's to 1, and so on"), lines("systemctl start irqbalance"))},
		{[]string{"qdisc.fq.maxrate"}, fixed("tc-fq(8)", "", lines("tc qdisc replace dev eth0 root fq maxrate 950mbit   # the slower link's rate"), lines("tc qdisc del dev eth0 root"))},
		{[]string{"cpu.0.scaling_governor"}, write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")},
		{[]string{"cpu.0.state1.disable"}, write("/sys/devices/system/cpu/cpu0/cpuidle/state1/disable")},
		{[]string{"module.pcie_aspm.policy"}, write("/sys/module/pcie_aspm/parameters/policy")},
	}
}

// deviceTree writes properties of the MAC's, the PHY's and the accumulator's
// nodes. They take effect at the next boot.
func deviceTree() []rule {
	const note = "rebuild the .dtb, or load an overlay, and reboot"
	props := func(node, ref string, do ...string) func(result.Advice) Instruction {
		return func(result.Advice) Instruction {
			var text []string
			for _, p := range do {
				text = append(text, fmt.Sprintf("%s { %s };", node, p))
			}
			return Instruction{Do: text, Undo: []string{"take the property out again"}, Note: note, Ref: ref}
		}
	}
	return []rule{
		{[]string{"ethtool.coalesce.rx-usecs", "ethtool.coalesce.rx-frames", "accumulator.pacing", "link.gro_flush_timeout"},
			props("&netcp accumulator queue (KeyStone)", "K2H report: <channel queue pacing-mode timer-ticks>", "accumulator = <0 47 16 2 50>;")},
		{[]string{"ethtool.eee.eee"}, props("&phy", "devicetree bindings net/ethernet-phy", "eee-broken-1000t;", "eee-broken-100tx;")},
		{[]string{"phy.autoneg"}, props("&phy", "devicetree bindings net/ethernet-phy, ethernet-controller", "max-speed = <1000>;  and no fixed-link below the MAC")},
		{[]string{"phy.delay"}, props("&mac", "devicetree bindings net/ethernet-controller", `phy-mode = "rgmii-id";`, "rx-internal-delay-ps = <2000>; tx-internal-delay-ps = <2000>;")},
		{[]string{"board.cache", "ftp.no-copy"}, props("&mac", "XAPP1082 (ACP); devicetree specification dma-coherent", "dma-coherent;  where the port really snoops the caches")},
		{[]string{"ethtool.rings.rx", "stack.buffers"}, props("&mac", "altera_tse binding; module parameters dma_rx_num, dma_tx_num", "rx-fifo-depth = <2048>; tx-fifo-depth = <2048>;  as the core was built")},
		{[]string{"ethtool.features.tx", "ethtool.features.tso"}, func(a result.Advice) Instruction {
			if a.Value != "off" {
				return Instruction{}
			}
			return props("&gmac (stmmac)", "armbian build 1736: check sums in the transmit FIFO want a burst that fits it", "snps,txpbl = <0x4>;")(a)
		}},
		{[]string{"link.mtu"}, props("&mac", "devicetree bindings net/ethernet-controller", "max-frame-size = <9000>;  where MAC and FIFO hold it")},
		{[]string{"cpu.0.state1.disable"}, props("cpu idle-states", "devicetree bindings cpu/idle-states", `status = "disabled";`)},
	}
}
