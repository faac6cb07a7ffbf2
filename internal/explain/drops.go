package explain

import (
	"fmt"
	"math"

	"github.com/linerate/linerate/result"
)

// dropRules tell where packets are lost; each place has a lever of its own.
func dropRules() []Rule {
	return []Rule{
		{ID: "drop.ring", Code: "R-DROP-1",
			Group: Drops,
			Title: "The receive ring is too small for bursts",
			Ref:   "ESnet fasterdata; LibreQoS issue 417; apu2 issue 178",
			Gain:  "no drops and no pause frames",
			Trade: "delay, and a ring that no longer fits the cache",
			Next:  "double the ring and count drops again",
			act:   largerRing,
			needs: []clue{
				first(some(0.5, "drops.ring"), some(0.45, "drops.fifo"),
					every(
						0.45, some(0, "pause.tx"),
						first(atMost(0, "ring.rx", smallRing), ratio(0, "ring.rx", "ring.rx-max", under(fewer))),
					),
					every(0.3, some(0, "drops.rx"), atMost(0, "ring.rx", smallRing)), some(0.3, "pause.tx"),
				),
			},
			clues: []clue{
				ratio(0.25, "ring.rx", "ring.rx-max", under(fewer)), some(0.25, "pause.tx"), atMost(0.2, "ring.rx", smallRing),
				compare(0.15, "errors.crc", func(x float64) bool { return x == 0 }),
			},
			doubts: []clue{
				atLeast(0.7, "cpu.softirq", fullCore), atLeast(0.5, "cpu.busiest", 0.99), saw(0.5, "works", "lower-speed"),
				saw(0.5, "bus.aspm", "on"), ratio(0.6, "ring.rx", "ring.rx-max", over(1)),
			},
		},
		{ID: "drop.cpu", Code: "R-DROP-2",
			Group: Drops,
			Title: "Frames are dropped because their core is full",
			Ref:   "RFC 2285 3.7; linux networking/scaling",
			Gain:  "what the fuller core loses",
			Trade: "a larger ring only delays the loss",
			Next:  "see what fills the core: profile it",
			needs: []clue{
				either(
					0.5, some(0, "drops.ring"), some(0, "drops.fifo"), some(0, "drops.rx"), some(0, "drops.softnet"),
					saw(0, "drops.seen"),
				),
				either(
					0.6, atLeast(0, "cpu.softirq", fullCore),
					every(0, saw(0, "irq.one-core"), atLeast(0, "cpu.busiest", fullCore)),
				),
			},
		},
		{ID: "drop.backlog", Code: "R-DROP-3",
			Group: Drops,
			Title: "The backlog of a core overflows",
			Ref:   "linux admin-guide/sysctl/net netdev_max_backlog; bpftune",
			Gain:  "no softnet drops", Trade: "delay", Next: "double the backlog, or spread with RPS, and read softnet_stat again",
			Levers: []result.Advice{{Lever: "sysctl.net.core.netdev_max_backlog", Value: "2000", End: "receiver"}},
			needs:  []clue{some(0.6, "drops.softnet")},
		},
		{ID: "drop.budget", Code: "R-DROP-4",
			Group: Drops,
			Title: "Receive polls run out of budget",
			Ref:   "linux admin-guide/sysctl/net netdev_budget; bpftune (share of full polls: practice)",
			Gain:  "fewer rounds of the softirq",
			Trade: "tasks wait longer for the core",
			Next:  "double netdev_budget and netdev_budget_usecs and watch time_squeeze",
			Levers: []result.Advice{
				{Lever: "sysctl.net.core.netdev_budget", Value: "600", End: "receiver"},
				{Lever: "sysctl.net.core.netdev_budget_usecs", Value: "16000", End: "receiver"},
			},
			needs: []clue{
				first(every(0.85, atMost(0, "irq.budget", smallBudget), squeezedRate(0)), squeezedRate(0.4), every(0.3, some(0, "drops.squeezed"), atLeast(0, "irq.full-polls", fullPolls)),
					atLeast(0.28, "drops.squeezed", few)),
			},
			clues: []clue{atLeast(0.4, "irq.full-polls", fullPolls)},
		},
		{ID: "drop.socket", Code: "R-DROP-5",
			Group: Drops,
			Title: "The socket's receive buffer overflows",
			Ref:   "RFC 4113 udpInErrors; carbon-c-relay issue 270; netdata issue 4086",
			Gain:  "no loss at the socket",
			Trade: "memory, and delay where the program is too slow",
			Next:  "make the buffer four times as large: if drops stay, the program is too slow (read in batches, more readers)",
			Levers: []result.Advice{
				{Lever: "sysctl.net.core.rmem_max", Value: "8388608", End: "receiver"},
				{Lever: "sysctl.net.core.rmem_default", Value: "2097152", End: "receiver"},
			},
			needs: []clue{some(0.6, "drops.socket")},
			clues: []clue{saw(0.3, "drops.socket-buffers-tried"), atLeast(0.3, "app.cpu", fullCore), saw(0.1, "protocol", "udp")},
			doubts: []clue{
				compare(0.4, "drops.loss", under(rareDrops)),
				saw(0.4, "irq.steered-one"), atMost(0.3, "irq.budget", smallBudget), // the reader's turn comes late for these
			}},
		{ID: "drop.qdisc", Code: "R-DROP-6",
			Group:  Drops,
			Title:  "The sender's queue overflows or its ring is slow to drain",
			Ref:    "tc(8); sysfs-class-net-queues",
			Gain:   "no loss before the wire",
			Trade:  "delay in a longer queue",
			Next:   "read tc -s qdisc and byte_queue_limits while it runs",
			Levers: []result.Advice{{Lever: "link.tx_queue_len", Value: "2000", End: "sender"}},
			needs:  []clue{first(some(0.55, "drops.qdisc"), atLeast(0.35, "drops.requeues", 100))},
		},
		{ID: "drop.conntrack", Code: "R-DROP-7",
			Group: Drops,
			Title: "The connection tracking table is full",
			Ref:   "linux networking/nf_conntrack-sysctl; kubernetes issue 71261",
			Gain:  "new connections are taken",
			Trade: "some 300 bytes of kernel memory for each",
			Next:  "read nf_conntrack_count beside nf_conntrack_max",
			act:   largerTable,
			needs: []clue{
				first(saw(0.85, "conntrack.table-full"), ratio(0.75, "conntrack.count", "conntrack.max", over(fullTable)),
					some(0.7, "conntrack.insert-failed"), ratio(0.3, "conntrack.count", "conntrack.buckets", over(2)),
				),
			},
			clues: []clue{some(0.3, "conntrack.insert-failed"), ratio(0.3, "conntrack.count", "conntrack.max", over(fullTable))}},
		{ID: "drop.paused", Code: "R-DROP-8",
			Group: Drops,
			Title: "The peer asks the sender to pause: the bottleneck is behind it",
			Ref:   "IEEE 802.3 31B; LibreQoS issue 417",
			Gain:  "found at the peer",
			Trade: "none",
			Next:  "explain the peer: its ring, its CPU, its bus",
			needs: []clue{some(0.55, "pause.rx")},
		},
	}
}

// largerRing doubles the ring, up to what there is.
func largerRing(v View) []result.Advice {
	want := 4096.0
	if n, ok := v.Number("ring.rx"); ok {
		want = math.Exp2(math.Ceil(math.Log2(2 * n)))
	}
	if most, ok := v.Number("ring.rx-max"); ok {
		want = min(want, most)
	}
	return []result.Advice{{Lever: "ethtool.rings.rx", Value: fmt.Sprintf("%.0f", want), End: "receiver"}}
}

// largerTable doubles the table; buckets follow at a quarter of it.
func largerTable(v View) []result.Advice {
	most, ok := v.Number("conntrack.max")
	if !ok {
		most = 262144
	}
	most = max(2*most, leastTable)
	return []result.Advice{{Lever: "sysctl.net.netfilter.nf_conntrack_max", Value: fmt.Sprintf("%.0f", most)},
		{Lever: "sysctl.net.netfilter.nf_conntrack_buckets", Value: fmt.Sprintf("%.0f", most/4)}}
}

// squeezedRate holds where polls run out of budget more than once a second.
func squeezedRate(weight float64) clue {
	return clue{[]string{"drops.squeezed"}, func(v View) sign {
		n, ok := v.Number("drops.squeezed")
		if !ok || v.Duration <= 0 || n/v.Duration.Seconds() < squeezes {
			return sign{}
		}
		return sign{true, weight, []string{fmt.Sprintf("out of budget %.1f times a second", n/v.Duration.Seconds())}, []result.Value{result.SoftnetSqueezed.Of(n)}}
	}}
}
