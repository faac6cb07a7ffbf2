package explain

import (
	"fmt"
	"math"

	"github.com/linerate/linerate/result"
)

// interruptRules judge how interrupts gather packets.
func interruptRules() []Rule {
	return []Rule{
		{ID: "irq.each-packet", Code: "R-IRQ-1",
			Group: Interrupts,
			Title: "Almost every packet interrupts",
			Ref:   "batch 1 + rate x timer; AN4375 (12 frames, 32 us)",
			Gain:  "8 to 16 packets for each interrupt",
			Trade: "up to the timer of added delay",
			Next:  "coalesce and count packets per interrupt",
			act:   gatherEight,
			needs: []clue{
				first(every(0.55, atMost(0, "irq.packets-per-interrupt", lonelyPackets), atLeast(0, "irq.frames", busyFrames)),
					every(0.4, atLeast(0, "irq.rate", busyFrames), first(atLeast(0, "cpu.softirq", irqShare), atLeast(0, "cpu.busiest", freeCore), saw(0, "cpu.hot", "interrupt"))),
					every(0.5, atMost(0, "irq.packets-per-poll", lonelyPackets), atLeast(0, "irq.frames", busyFrames)),
					every(0.4, atMost(0, "irq.packets-per-poll", lonelyPackets), atLeast(0, "cpu.softirq", irqShare)),
					atMost(0.3, "irq.packets-per-interrupt", lonelyPackets),
				),
			},
			clues: []clue{atLeast(0.3, "cpu.softirq", irqShare), atLeast(0.2, "cpu.busiest", freeCore)},
			doubts: []clue{
				saw(0.5, "irq.coalesce-ignored"), saw(0.4, "irq.latency-bound"),
				// Small writes make the packets that interrupt.
				every(0.4, saw(0, "protocol", "tcp"), atMost(0, "app.write-size", smallSegment*1460)),
			}},
		{ID: "irq.timer-too-short", Code: "R-IRQ-2",
			Group: Interrupts,
			Title: "The software timer fires before packets gather",
			Ref:   "linux networking/napi (measured here: 1.5 to 3.5 times the cost)",
			Gain:  "two to three times less time for each packet",
			Trade: "a longer timer delays, none interrupts more",
			Next:  "set the timer to 8 packet gaps, or to 0, and compare the time per packet",
			act:   eightGaps,
			needs: []clue{first(shortTimer(0.7), atMost(0.35, "irq.flush-timeout", shortFlush))},
			clues: []clue{saw(0.25, "works", "other-kernel"), atLeast(0.1, "cpu.softirq", irqShare)}},
		{ID: "irq.ack-rate", Code: "R-IRQ-3",
			Group: Interrupts,
			Title: "ACKs come one for each segment or two",
			Ref:   "RFC 5681 4.2; Windows TcpAckFrequency",
			Gain:  "50-60 to 60-73 MB/s was seen, with interrupt pacing",
			Trade: "bursts of 10 segments; a lost ACK costs more",
			Next:  "let the peer acknowledge every 10 segments, or coalesce at the board, and compare",
			Levers: []result.Advice{
				{Lever: "windows.TcpAckFrequency", Value: "10", End: "peer"},
				{Lever: "ethtool.coalesce.rx-usecs", Value: "50", End: "sender"},
				{Lever: "link.gro_flush_timeout", Value: "200000", End: "receiver"},
			},
			needs: []clue{
				first(atMost(0.5, "tcp.segments-per-ack", everySegment), atMost(0.4, "tcp.segments-per-ack", everySecond),
					atMost(0.5, "tcp.bytes-per-ack", everySegment*1460), atMost(0.4, "tcp.bytes-per-ack", everySecond*1460),
				),
			},
			clues: []clue{
				slow(0.2, "goodput", unfilled), saw(0.1, "works", "udp"), atLeast(0.2, "cpu.softirq", irqShare),
				atMost(0.1, "irq.packets-per-interrupt", lonelyPackets),
			},
			doubts: []clue{saw(0.9, "protocol", "udp"), atLeast(0.5, "tcp.retransmit-share", lossy)}},
		{ID: "irq.delay", Code: "R-IRQ-4",
			Group: Interrupts,
			Title: "Coalescing delays each answer",
			Ref:   "linux networking/net_dim",
			Gain:  "answers faster by about the timer",
			Trade: "more interrupts",
			Next:  "halve rx-usecs, or switch adaptive-rx on, and count answers",
			Levers: []result.Advice{
				{Lever: "ethtool.coalesce.adaptive-rx", Value: "on"}, {Lever: "ethtool.coalesce.rx-usecs", Value: "8"},
			},
			needs: []clue{saw(0.3, "irq.latency-bound"), ratio(0.6, "irq.coalesce", "tcp.rtt", over(2*delayShare))}},
		{ID: "irq.too-many", Code: "R-IRQ-5",
			Group: Interrupts,
			Title: "Interrupts gather too many packets",
			Ref:   "linux networking/napi (practice)",
			Gain:  "shorter worst delays", Trade: "more interrupts", Next: "halve rx-usecs and compare the 99th percentile",
			Levers: []result.Advice{{Lever: "ethtool.coalesce.rx-usecs", Value: "half the present"}},
			needs: []clue{
				first(atLeast(0.4, "irq.packets-per-interrupt", crowdedPackets), atLeast(0.3, "irq.full-polls", 0.5)),
				saw(0.3, "irq.latency-bound"),
			},
		},
		{ID: "irq.coalesce-ignored", Code: "R-IRQ-6",
			Group: Interrupts,
			Title: "The driver ignores the coalescing asked for",
			Ref:   "amzn-drivers issue 290",
			Gain:  "coalescing in software, on any driver",
			Trade: "a timer's cost; only for more than 3 packets at a time",
			Next:  "read the setting back, and count interrupts before and after",
			Levers: []result.Advice{
				{Lever: "link.napi_defer_hard_irqs", Value: "2"}, {Lever: "link.gro_flush_timeout", Value: "200000"},
			},
			needs: []clue{
				first(saw(0.75, "irq.coalesce-ignored"), ratio(0.8, "irq.coalesce-read", "irq.coalesce-written", under(fewer)),
					ratio(0.8, "irq.coalesce-read", "irq.coalesce-written", over(1/fewer)),
				),
			},
		},
		{ID: "irq.transmit", Code: "R-IRQ-7",
			Group: Interrupts,
			Title: "Each packet sent interrupts",
			Ref:   "openwrt issue 11676; NIOS II TSE application note",
			Gain:  "one interrupt for tens of packets",
			Trade: "buffers are freed later: see that tcp_limit_output_bytes does not starve the ring",
			Next:  "raise tx-frames and tx-usecs, or free buffers without an interrupt",
			Levers: []result.Advice{
				{Lever: "ethtool.coalesce.tx-frames", Value: "64"}, {Lever: "ethtool.coalesce.tx-usecs", Value: "1000"},
			},
			needs: []clue{first(saw(0.6, "irq.tx-per-packet"), every(0.3, saw(0, "cpu.hot", "timer")))},
			clues: []clue{saw(0.2, "cpu.hot", "timer", "interrupt")},
		},
		{ID: "irq.pacing-unbounded", Code: "R-IRQ-8",
			Group:  Interrupts,
			Title:  "This pacing mode has no bound on delay",
			Ref:    "KeyStone accumulator, modes 0 to 3",
			Gain:   "delay of one timer at most",
			Trade:  "one timer of delay for every packet",
			Next:   "set the mode to since-first, timer 2 ticks (50 us)",
			Levers: []result.Advice{{Lever: "accumulator.pacing", Value: "since-first, 2"}},
			needs:  []clue{saw(0.6, "irq.pacing", "none", "since-last")},
		},
	}
}

// gatherEight chooses the timer that gathers eight packets at this rate.
func gatherEight(v View) []result.Advice {
	usecs, frames := 50.0, 2*goodBatch
	if rate, ok := v.Number("irq.frames"); ok && rate > 0 {
		usecs = math.Round(goodBatch / rate * 1e6)
	}
	if ring, ok := v.Number("ring.rx"); ok {
		frames = min(frames, ring/2)
	}
	// A driver that has no timer of its own is held back by the kernel's, which
	// pays only where a good many packets gather.
	return []result.Advice{
		{Lever: "ethtool.coalesce.rx-usecs", Value: fmt.Sprintf("%.0f", max(usecs, 1)), End: "receiver"},
		{Lever: "ethtool.coalesce.rx-frames", Value: fmt.Sprintf("%.0f", frames), End: "receiver"},
		{Lever: "link.napi_defer_hard_irqs", Value: "2", End: "receiver"},
		{Lever: "link.gro_flush_timeout", Value: fmt.Sprintf("%.0f", 3*max(usecs, 1)*1e3), End: "receiver"},
		{Lever: "link.threaded", Value: "1", End: "receiver"},
	}
}

// eightGaps is the same for the timer in software.
func eightGaps(v View) []result.Advice {
	rate, ok := v.Number("irq.frames")
	if !ok || rate <= 0 {
		return []result.Advice{{Lever: "link.gro_flush_timeout", Value: "0", End: "receiver"}}
	}
	return []result.Advice{{Lever: "link.gro_flush_timeout", Value: fmt.Sprintf("%.0f", goodBatch/rate*1e9), End: "receiver"}}
}

// shortTimer holds where less than two packets come within the timer.
func shortTimer(weight float64) clue {
	return clue{[]string{"irq.flush-timeout", "irq.frames"}, func(v View) sign {
		timeout, ok1 := v.Number("irq.flush-timeout")
		rate, ok2 := v.Number("irq.frames")
		if !ok1 || !ok2 || timeout <= 0 || timeout*rate >= 2 {
			return sign{}
		}
		return sign{true, weight, []string{fmt.Sprintf("%.1f packets come within %.0f us", timeout*rate, timeout*1e6)}, []result.Value{result.CoalesceTime.Of(timeout, "state", "flush"), result.FrameRate.Of(rate)}}
	}}
}
