package explain

import "github.com/linerate/linerate/result"

// stackRules judge applications and the stacks of small systems.
func stackRules() []Rule {
	return []Rule{
		{ID: "app.waits", Code: "R-APP-2",
			Group:  Stack,
			Title:  "The send loop waits after each send",
			Ref:    "K2H report: yield removed; zephyr issue 23302",
			Gain:   "part of 11 to 23 MB/s was seen",
			Trade:  "tasks of the same priority get no turn on an RTOS",
			Next:   "count voluntary context switches for each send",
			Levers: []result.Advice{{Lever: "app.yield", Value: "none"}},
			needs:  []clue{first(saw(0.7, "app.sleeps"), atLeast(0.6, "app.waits-per-send", waitsEach))},
			clues:  []clue{saw(0.2, "app.debug-build")},
		},
		{ID: "app.small-writes", Code: "R-APP-1", Group: Stack, Title: "The application writes small pieces", Ref: "RFC 9293 3.7.4",
			Gain: "fewer calls and packets for the same data", Trade: "the first byte waits", Next: "sweep the write size",
			Levers: []result.Advice{{Lever: "app.write-size", Value: "1460 or more"}},
			needs:  []clue{first(every(0.65, saw(0, "protocol", "tcp"), atMost(0, "app.write-size", tinyWrite)), atMost(0.4, "app.write-size", smallSegment*1460))},
			clues: []clue{
				atLeast(0.3, "cpu.busiest", freeCore), atMost(0.2, "app.write-size", tinyWrite), atMost(0.3, "app.frame-size", 1000),
			},
		},
		{ID: "app.short-sends", Code: "R-RTOS-1",
			Group:  Stack,
			Title:  "Sends are shorter than a segment",
			Ref:    "K2H report: 566-byte frames to 1,514",
			Gain:   "11 to 23 MB/s was seen, with the waits removed",
			Trade:  "the first byte waits; more memory for buffers",
			Next:   "capture: how long are the data frames?",
			Levers: []result.Advice{{Lever: "app.write-size", Value: "1460 or a multiple"}},
			needs:  []clue{atMost(0.35, "app.write-size", smallSegment*1460)},
			clues:  []clue{saw(0.2, "app.sleeps"), saw(0.2, "protocol", "udp"), atMost(0.2, "app.write-size", 256)},
		},
		{ID: "stack.memory", Code: "R-RTOS-2",
			Group:  Stack,
			Title:  "The stack runs out of memory or packet buffers",
			Ref:    "NDK fdError 12; zephyr issue 42653",
			Gain:   "connections are taken and sends no longer fail",
			Trade:  "memory",
			Next:   "read the heap's and the buffer pools' low marks",
			Levers: []result.Advice{{Lever: "stack.heap", Value: "0x100000"}, {Lever: "stack.buffers", Value: "twice the present"}},
			needs: []clue{
				first(saw(0.7, "app.error", "enomem"), saw(0.45, "app.error", "enobufs"),
					every(0.5, saw(0, "fails", "connect"), saw(0, "works", "ping")),
				),
			},
			clues: []clue{saw(0.35, "app.after-buffer-change"), saw(0.2, "app.few-buffers"), saw(0.2, "app.error", "refused")}},
		{ID: "stack.reclaim", Code: "R-RTOS-3",
			Group:  Stack,
			Title:  "The transmit routine frees old buffers on its way",
			Ref:    "K2H report: 1550-2950 to 1600 cycles",
			Gain:   "the longer path's cycles, for each packet",
			Trade:  "buffers are freed later, in batches",
			Next:   "plot the cycles of each call: two clusters?",
			Levers: []result.Advice{{Lever: "driver.reclaim", Value: "outside the send path"}},
			needs:  []clue{ratio(0.65, "cpu.send-cycles-max", "cpu.send-cycles-min", over(twoClusters))}},
		{ID: "stack.cache", Code: "R-RTOS-4",
			Group:  Stack,
			Title:  "A cache is off, or packets lie in memory that is not cached",
			Ref:    "zephyr pull 111833; XAPP1082",
			Gain:   "12 to 130 Mbit/s was seen",
			Trade:  "the driver must clean and invalidate around DMA",
			Next:   "read the cache controller's registers; time a copy",
			Levers: []result.Advice{{Lever: "board.cache", Value: "on"}},
			needs: []clue{
				first(saw(0.7, "cpu.cache", "off", "l1-only"), saw(0.5, "cpu.dma-memory", "uncached"),
					saw(0.45, "cpu.hot", "cache"),
				),
			},
			clues: []clue{saw(0.2, "cpu.bound"), saw(0.15, "cpu.hot", "copy")},
		},
		{ID: "stack.one-packet-drain", Code: "R-RTOS-5",
			Group:  Stack,
			Title:  "Each interrupt takes one packet and leaves the rest",
			Ref:    "NIOS II TSE application note; litex issue 1924",
			Gain:   "no interrupt for packets already there",
			Trade:  "a longer interrupt or poll",
			Next:   "count packets taken for each interrupt",
			Levers: []result.Advice{{Lever: "driver.receive", Value: "loop until the ring is empty"}},
			needs:  []clue{saw(0.7, "irq.one-packet-drain")}, clues: []clue{atMost(0.2, "irq.packets-per-interrupt", 1.2)}},
		{ID: "stack.tcp-only", Code: "R-RTOS-6",
			Group: Stack,
			Title: "UDP is fast and TCP is not: the ACK or window path, not the driver",
			Ref:   "zephyr pulls 75014 and 111869; issue 24770",
			Gain:  "TCP as fast as UDP", Trade: "none", Next: "capture: segments for each ACK, window, pauses",
			Levers: []result.Advice{
				{Lever: "stack.ack-every", Value: "2 full segments"}, {Lever: "stack.receive-window", Value: "larger"},
			},
			needs: []clue{first(every(0.5, saw(0, "works", "udp"), slowTCP()), better(0.5, "udp", clearly))},
			clues: []clue{
				atMost(0.3, "tcp.segments-per-ack", everySegment), saw(0.2, "tcp.window-short"),
				saw(0.2, "app.error", "enobufs", "enomem"), saw(0.1, "fails", "tcp"),
			},
			doubts: []clue{saw(0.4, "varies", "distance"), better(0.5, "slower-sender", much), saw(0.3, "tcp.hole-not-resent")}},
		{ID: "stack.receive-starved", Code: "R-RTOS-7",
			Group:  Stack,
			Title:  "Sending starves the receive path: ACKs wait",
			Ref:    "RFC 6298 2 (RTT under load)",
			Gain:   "a round trip near the idle one",
			Trade:  "some sends wait",
			Next:   "compare the ACKs' time on the wire with their time in the stack",
			Levers: []result.Advice{{Lever: "driver.receive", Value: "served in the transmit loop"}},
			needs: []clue{
				first(saw(0.65, "tcp.ack-handling-late"),
					every(
						0.35, ratio(0, "tcp.rtt", "tcp.rtt-idle", over(swollenRTT)), compare(0, "tcp.retransmits", under(few)),
					),
				),
			},
			clues: []clue{ratio(0.3, "tcp.rtt", "tcp.rtt-idle", over(swollenRTT))},
			// A queue on the way swells the round trip as well, and a virtual link has no idle one to speak of.
			doubts: []clue{saw(0.6, "link.virtual")}},
	}
}

// slowTCP holds where it is TCP that is slow.
func slowTCP() clue {
	return clue{[]string{"protocol", "works", "fails"}, func(v View) sign {
		_, told := v.Goodput()
		fails, _ := v.Seen("fails", "tcp")
		works, _ := v.Seen("works", "tcp")
		protocol := v.Word("protocol")
		return sign{holds: !works && (fails || protocol == "tcp" || protocol == "" && told), texts: []string{"TCP is slow"}}
	}}
}

// serialRules is what remains without a window and a round trip to reckon with.
func serialRules() []Rule {
	return []Rule{
		{ID: "tcp.serial", Code: "R-TCP-4",
			Group:  Stack,
			Title:  "Nothing is lost and the line is not full: the application or one serial step",
			Ref:    "RFC 6349 3.3.1",
			Gain:   "found by timing one step",
			Trade:  "none",
			Next:   "read window, round-trip time and CPU: they tell the application from the window",
			Levers: []result.Advice{{Lever: "ethtool.coalesce.rx-usecs", Value: "50"}},
			needs: []clue{
				slow(0.15, "goodput", unfilled),
				either(0.25, compare(0, "tcp.retransmits", under(few)), compare(0, "tcp.retransmit-share", under(lossy))),
			},
			clues: []clue{compare(0.25, "tcp.cwnd", over(1)), atMost(0.2, "cpu.busiest", freeCore)},
			doubts: []clue{
				atLeast(0.7, "cpu.busiest", freeCore), atLeast(0.7, "app.cpu", freeCore),
				saw(0.4, "cpu.hot", "timer", "lock", "copy", "checksum"),
				atLeast(0.8, "tcp.rwnd-limited", limitedShare), atLeast(0.8, "tcp.sndbuf-limited", limitedShare),
			},
		},
	}
}
