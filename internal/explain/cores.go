package explain

import (
	"fmt"

	"github.com/linerate/linerate/result"
)

// coreRules judge what cores spend their time on, and how fast they are.
func coreRules() []Rule {
	features := []result.Advice{{Lever: "ethtool.features.tx", Value: "on"}, {Lever: "ethtool.features.rx", Value: "on"}}
	return []Rule{
		{ID: "cpu.irq-core", Code: "R-CPU-1",
			Group: CPU,
			Title: "One core does all the packet work",
			Ref:   "linux networking/scaling; weave issue 2927",
			Gain:  "with several flows, up to the number of cores",
			Trade: "interrupts between cores, cold caches",
			Next:  "spread over queues (RSS) or with RPS, several flows, and compare",
			act:   steerWide,
			Levers: []result.Advice{
				{Lever: "ethtool.channels.combined", Value: "one for each core", End: "receiver"},
				{Lever: "queue.rx-0.rps_cpus", Value: "every other core", End: "receiver"},
				{Lever: "irq.N.smp_affinity", Value: "one core for each queue or port", End: "receiver"},
			},
			needs: []clue{
				first(every(0.8, saw(0, "irq.steered-one"), saw(0, "irq.one-core")), saw(0.6, "irq.steered-one"), saw(0.55, "irq.one-core"), saw(0.5, "irq.steering-off"), atLeast(0.5, "cpu.softirq", fullCore),
					every(0.4, atLeast(0, "cpu.busiest", fullCore), atMost(0, "cpu.others", idleCore)),
				),
			},
			clues: []clue{
				every(0.45, atLeast(0, "cpu.busiest", fullCore), atMost(0, "cpu.others", idleCore)),
				atLeast(0.3, "cpu.softirq", fullCore), saw(0.2, "cpu.hot", "softirq"), saw(0.2, "irq.steering-off"),
				atLeast(0.1, "test.streams", 2),
			},
			doubts: []clue{unsteered(atMost(0.9, "cpu.softirq", idleCore)), atLeast(0.5, "app.cpu", fullCore), unsteered(atMost(0.8, "cpu.busiest", freeCore))}},
		{ID: "cpu.shared-core", Code: "R-CPU-2",
			Group:  CPU,
			Title:  "Program and interrupts share one core",
			Ref:    "raspberry-pi-pcie-devices 40; openwrt issue 24697",
			Gain:   "20 to 40 % was seen",
			Trade:  "one core less for other work",
			Next:   "pin the program to a core that takes no interrupt and compare",
			Levers: []result.Advice{{Lever: "irq.N.smp_affinity", Value: "another core"}},
			needs: []clue{
				first(saw(0.65, "cpu.shared-core"), better(0.6, "other-core", somewhat), every(0.35, saw(0, "varies", "core"))),
			},
			clues: []clue{better(0.3, "other-core", somewhat), saw(0.15, "varies", "runs", "core")}},
		{ID: "cpu.other-program", Code: "R-CPU-2",
			Group:  CPU,
			Title:  "Another program takes the core that the link needs",
			Ref:    "sched(7); proc(5) /proc/stat",
			Gain:   "the share of the core that the other program takes",
			Trade:  "the other program waits, or another core gets warm",
			Next:   "see with top which program it is; move it, or the interrupts and the receiver, to another core",
			Levers: []result.Advice{{Lever: "process.other.cpus", Value: "another core", End: "receiver"}, {Lever: "process.other.cpus", Value: "another core", End: "sender"}},
			needs:  []clue{atLeast(0.6, "cpu.other-programs", strangersShare), atLeast(0.1, "cpu.busiest", freeCore)},
			clues:  []clue{atLeast(0.4, "cpu.other-programs", 0.4)},
		},
		{ID: "cpu.small-mtu", Code: "R-CPU-4",
			Group:  CPU,
			Title:  "The MTU is smaller than Ethernet's: each packet carries little",
			Ref:    "IEEE 802.3 3.2.7; RFC 894",
			Gain:   "in proportion to the packets saved",
			Trade:  "every hop must carry 1,500 bytes: a tunnel on the way may not",
			Next:   "ping -M do -s 1472 along the path, then raise the MTU at both ends",
			Levers: []result.Advice{{Lever: "link.mtu", Value: "1500", End: "both"}},
			needs:  []clue{atMost(0.55, "link.mtu", smallMTU)},
			clues:  []clue{atLeast(0.35, "cpu.busiest", freeCore), saw(0.2, "cpu.bound"), slow(0.2, "goodput", unfilled)},
			doubts: []clue{ratio(0.8, "link.path-mtu", "link.mtu", under(1))},
		},
		{ID: "cpu.per-byte", Code: "R-CPU-3",
			Group:  CPU,
			Title:  "Each byte costs too much: copies, check sums or caches",
			Ref:    "t = a + b m; zephyr pull 111833; litex issue 1924",
			Gain:   "in proportion to the bytes no longer touched",
			Trade:  "buffers lent out for longer; cache maintenance",
			Next:   "sweep the message size: does the time grow with it?",
			Levers: []result.Advice{{Lever: "ethtool.features.tx", Value: "on"}, {Lever: "ftp.no-copy", Value: "on"}},
			needs: []clue{
				first(perByte(0.7, true), atLeast(0.6, "cpu.cycles-per-byte", slowCopy), saw(0.5, "cpu.hot", "copy"),
					saw(0.55, "cpu.dma-memory", "uncached", "header-only"), saw(0.4, "cpu.cache", "off", "l1-only"),
				),
			},
			clues: []clue{
				saw(0.3, "cpu.bound"), saw(0.2, "cpu.hot", "copy", "cache"),
				saw(0.25, "cpu.dma-memory", "uncached", "header-only"),
			},
		},
		{ID: "cpu.per-packet", Code: "R-CPU-4",
			Group: CPU,
			Title: "Each packet or call costs too much",
			Ref:   "t = a + b m; superuser 1757563; vivado-risc-v issue 255",
			Gain:  "in proportion to the packets and calls saved",
			Trade: "larger units come in bursts and wait longer",
			Next:  "sweep the message size, then the MTU: does the time stay?",
			Levers: []result.Advice{
				{Lever: "link.mtu", Value: "9000"}, {Lever: "ethtool.features.tso", Value: "on"},
				{Lever: "ethtool.features.gro", Value: "on"}, {Lever: "ethtool.coalesce.rx-usecs", Value: "50"},
			},
			needs: []clue{
				first(perByte(0.6, false), better(0.6, "faster-clock", somewhat),
					every(
						0.6, better(0, "larger-mtu", clearly),
						first(atLeast(0, "app.cpu", fullProcess), atLeast(0, "cpu.busiest", fullCore), saw(0, "cpu.bound")),
					),
					saw(0.4, "cpu.bound"), better(0.35, "larger-mtu", much),
				),
			},
			clues: []clue{
				saw(0.15, "same", "streams"), saw(0.2, "cpu.bound"), saw(0.2, "cpu.hot", "interrupt", "softirq", "driver"),
			},
			doubts: []clue{saw(0.5, "cpu.hot", "copy", "checksum"), saw(0.4, "cpu.cache", "off", "l1-only")}},
		{ID: "cpu.timer", Code: "R-CPU-5",
			Group: CPU,
			Title: "Timers or locks for each packet take the CPU",
			Ref:   "openwrt issue 11676",
			Gain:  "210-250 to 938 Mbit/s was seen",
			Trade: "transmit buffers are freed later",
			Next:  "profile for hrtimer and spin locks; raise tx-frames and tx-usecs",
			Levers: []result.Advice{
				{Lever: "ethtool.coalesce.tx-usecs", Value: "1000"}, {Lever: "ethtool.coalesce.tx-frames", Value: "64"},
			},
			needs: []clue{
				first(saw(0.6, "cpu.hot", "timer"), atLeast(0.5, "cpu.profile-timer", hotShare), saw(0.45, "cpu.hot", "lock")),
			},
			clues: []clue{
				saw(0.2, "cpu.hot", "lock"), saw(0.25, "irq.tx-per-packet"), compare(0.1, "tcp.retransmits", under(few)),
			},
		},
		{ID: "cpu.clock", Code: "R-CPU-6",
			Group:  CPU,
			Title:  "The CPU runs below its clock",
			Ref:    "linux admin-guide/pm/cpufreq; openmptcprouter issue 1059",
			Gain:   "in proportion to the clock, where the CPU is the limit",
			Trade:  "power and heat",
			Next:   "set the governor to performance, read the clock under load",
			Levers: []result.Advice{{Lever: "cpu.0.scaling_governor", Value: "performance"}},
			needs: []clue{
				first(ratio(0.7, "cpu.clock", "cpu.clock-max", under(slowClock)),
					every(0.4, atMost(0, "cpu.clock", lowClock), noMaximum()),
					saw(0.35, "cpu.governor", "ondemand", "conservative", "schedutil", "powersave", "userspace"),
					every(0.3, saw(0, "varies", "uptime"), better(0, "after-boot", clearly)),
				),
			},
			clues: []clue{
				saw(0.25, "cpu.governor", "ondemand", "conservative", "powersave", "userspace"), saw(0.3, "varies", "uptime"),
				better(0.35, "after-boot", clearly), better(0.2, "faster-clock", somewhat),
			},
			doubts: []clue{every(0.5, ratio(0, "cpu.clock", "cpu.clock-max", over(slowClock))), atMost(0.3, "cpu.busiest", idleCore)}},
		{ID: "cpu.idle-exit", Code: "R-CPU-7",
			Group:  CPU,
			Title:  "The CPU sleeps too deeply between packets",
			Ref:    "linux admin-guide/pm/cpuidle; boundarydevices i-mx6-ethernet",
			Gain:   "8.5 to 426 Mbit/s was seen on receive",
			Trade:  "power and heat",
			Next:   "hold /dev/cpu_dma_latency open with 0 and compare",
			Levers: []result.Advice{{Lever: "cpu.0.state1.disable", Value: "1"}},
			needs: []clue{
				first(saw(0.5, "cpu.deep-idle"),
					every(0.28, receiveOnly(0), first(atMost(0, "cpu.busiest", freeCore), saw(0, "varies", "load"))),
				),
			},
			clues: []clue{receiveOnly(0.2), atMost(0.2, "cpu.busiest", freeCore)}},
		{ID: "cpu.steal", Code: "R-CPU-8",
			Group: CPU,
			Title: "Other machines of the host take CPU time",
			Ref:   "proc(5) /proc/stat steal (practice)",
			Gain:  "none by settings here",
			Trade: "none",
			Next:  "measure when the host is quiet: do not tune by these figures",
			needs: []clue{atLeast(0.6, "cpu.steal", stolen)},
		},
		{ID: "cpu.checksum", Code: "R-CPU-9",
			Group:  CPU,
			Title:  "Check sums are done in software",
			Ref:    "linux networking/checksum-offloads; zephyr pull 117888",
			Gain:   "72 to 86 Mbit/s was seen",
			Trade:  "the NIC's check sum must be trusted",
			Next:   "switch checksum offload on, or profile csum_partial",
			Levers: features,
			needs: []clue{
				first(saw(0.65, "cpu.hot", "checksum"), atLeast(0.6, "cpu.profile-checksum", hotShare),
					saw(0.55, "offload.checksum", "off"),
				),
			},
			clues:  []clue{saw(0.3, "offload.checksum", "off"), saw(0.2, "cpu.bound")},
			doubts: []clue{saw(0.5, "works", "offload-off"), atMost(0.4, "cpu.busiest", idleCore)}},
		{ID: "cpu.gro-forward", Code: "R-CPU-10",
			Group: CPU,
			Title: "A forwarder merges packets only to cut them again",
			Ref:   "openwrt issue 9848; linux networking/segmentation-offloads",
			Gain:  "170 to 550 Mbit/s was seen",
			Trade: "local traffic costs more without GRO",
			Next:  "switch GRO off, or rx-gro-list on, and compare",
			Levers: []result.Advice{
				{Lever: "ethtool.features.rx-gro-list", Value: "on"}, {Lever: "ethtool.features.gro", Value: "off"},
			},
			needs: []clue{
				saw(0.2, "role", "forwarder"),
				first(saw(0.4, "offload.gro", "on"), saw(0.6, "works", "gro-off"), saw(0.5, "cpu.hot", "segmentation"),
					atLeast(0.5, "cpu.profile-segmentation", hotShare),
					every(0.1, slow(0, "goodput", unfilled), atMost(0, "cpu.busiest", idleCore)),
				),
			},
			clues: []clue{
				saw(0.4, "works", "gro-off"), saw(0.3, "cpu.hot", "segmentation"), slow(0.2, "goodput", unfilled),
				saw(0.15, "varies", "runs"),
			},
		},
	}
}

// noMaximum holds where a clock is told without its maximum.
func noMaximum() clue {
	return clue{[]string{"cpu.clock-max"}, func(v View) sign {
		_, known := v.Number("cpu.clock-max")
		return sign{holds: !known, texts: []string{"its maximum is not known"}}
	}}
}

// perByte compares the parts of t = a + b m at the size of a full packet:
// bytes are the limit where b m is more than a, packets where it is far less.
func perByte(weight float64, bytes bool) clue {
	return clue{[]string{"cpu.message-cost", "cpu.byte-cost"}, func(v View) sign {
		a, ok1 := v.Get(result.MessageCost)
		b, ok2 := v.Get(result.ByteCost)
		if !ok1 || !ok2 || a+b <= 0 {
			return sign{}
		}
		size := b * defaultMTU
		if bytes && size <= a || !bytes && size >= a/2 {
			return sign{}
		}
		return sign{true, weight, []string{fmt.Sprintf("of %.1f us for a full packet its bytes take %.1f us", (a+size)*1e6, size*1e6)},
			[]result.Value{result.MessageCost.Of(a), result.ByteCost.Of(b)}}
	}}
}

// steerWide widens a steering mask that names one core.
func steerWide(v View) []result.Advice {
	if one, _ := v.Seen("irq.steered-one", "yes"); !one {
		return nil
	}
	return []result.Advice{{Lever: "queue.rx-0.rps_cpus", Value: "every core", End: "receiver"}}
}

// unsteered is a clue that counts only where no setting puts the work on one
// core: with one, that core's share is not told by the busiest's.
func unsteered(c clue) clue {
	return clue{append(c.facts, "irq.steered-one"), func(v View) sign {
		if one, _ := v.Seen("irq.steered-one", "yes"); one {
			return sign{}
		}
		return c.look(v)
	}}
}
