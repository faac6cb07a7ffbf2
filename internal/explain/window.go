package explain

import (
	"fmt"
	"math"

	"github.com/linerate/linerate/result"
)

// windowRules judge what TCP itself does, beside those that read the kernel's
// own account.
func windowRules() []Rule {
	return []Rule{
		{ID: "tcp.window-small", Code: "R-TCP-1",
			Group: Window,
			Title: "The window is small for the path",
			Ref:   "RFC 6349 3.3.1; RFC 9293 3.8.6",
			Gain:  "goodput grows with the window until something else bounds it",
			Trade: "memory for each connection",
			Next:  "read window and round-trip time under load: is goodput their quotient?",
			Levers: []result.Advice{
				{Lever: "stack.receive-window", Value: "64KiB or more", End: "receiver"},
				{Lever: "sysctl.net.ipv4.tcp_rmem", Value: "4096 131072 16777216", End: "receiver"},
			},
			needs: []clue{
				slow(0.1, "goodput", unfilled),
				first(windowShare(0.4), saw(0.3, "tcp.window-short"), atMost(0.35, "tcp.window", smallWindow), saw(0.2, "varies", "distance")),
			},
			doubts: []clue{
				saw(0.9, "protocol", "udp"), atLeast(0.5, "cpu.busiest", freeCore),
				compare(0.9, "tcp.rwnd-limited", under(limitedShare)), saw(0.5, "tcp.ack-at-full-window"),
			},
		},
		{ID: "tcp.receive-ceiling", Code: "R-TCP-1",
			Group:  Window,
			Title:  "The kernel may not tune the receive buffer to what a path needs",
			Ref:    "linux networking/ip-sysctl tcp_rmem",
			Gain:   "goodput grows with the window until something else bounds it",
			Trade:  "memory for each connection",
			Next:   "raise tcp_rmem's third number and compare",
			Levers: []result.Advice{{Lever: "sysctl.net.ipv4.tcp_rmem", Value: "4096 131072 16777216", End: "receiver"}},
			needs:  []clue{atMost(0.92, "tcp.receive-ceiling", smallBuffer)},
			doubts: []clue{saw(0.9, "protocol", "udp")},
		},
		{ID: "tcp.send-ceiling", Code: "R-TCP-2",
			Group:  Window,
			Title:  "The kernel may not tune the send buffer to what a path needs",
			Ref:    "linux networking/ip-sysctl tcp_wmem",
			Gain:   "the window can be filled",
			Trade:  "memory for each connection",
			Next:   "raise tcp_wmem's third number and compare",
			Levers: []result.Advice{{Lever: "sysctl.net.ipv4.tcp_wmem", Value: "4096 65536 4194304", End: "sender"}},
			needs:  []clue{atMost(0.92, "tcp.send-ceiling", smallBuffer)},
			doubts: []clue{saw(0.9, "protocol", "udp")},
		},
		{ID: "tcp.buffer-fixed", Code: "R-TCP-2",
			Group: Window,
			Title: "The application fixes its socket's buffers, which ends their tuning",
			Ref:   "linux networking/ip-sysctl tcp_wmem; tcp(7)",
			Gain:  "the window can be filled",
			Trade: "memory for each connection",
			Next:  "leave SO_SNDBUF and SO_RCVBUF alone and compare",
			Levers: []result.Advice{
				{Lever: "ftp.send-buffer", Value: "0", End: "sender"}, {Lever: "app.send-buffer", Value: "0", End: "sender"},
				{Lever: "app.receive-buffer", Value: "0", End: "receiver"},
			},
			needs: []clue{first(every(0.75, saw(0, "tcp.buffer-set"), atMost(0, "tcp.send-buffer", smallBuffer)), saw(0.4, "tcp.buffer-set"))},
			clues: []clue{
				atMost(0.25, "tcp.send-buffer", smallBuffer), atMost(0.25, "tcp.window", smallBuffer),
				atLeast(0.4, "tcp.sndbuf-limited", limitedShare), slow(0.15, "goodput", unfilled),
			},
		},
		{ID: "tcp.unscaled", Code: "R-TCP-3", Group: Window, Title: "The window is not scaled", Ref: "RFC 7323 2", Check: unscaled},
		{ID: "tcp.window-over-buffers", Code: "R-TCP-11",
			Group: Window,
			Title: "The window promises more than the receiver's driver can hold",
			Ref:   "RFC 9293 3.8.6; zephyr issue 23302",
			Gain:  "no timeouts",
			Trade: "a smaller window bounds goodput to window / RTT",
			Next:  "lower the window to the buffers' size and compare",
			Levers: []result.Advice{
				{Lever: "stack.receive-window", Value: "what the buffers hold", End: "receiver"},
				{Lever: "stack.buffers", Value: "what the window allows", End: "receiver"},
			},
			needs: []clue{
				first(ratio(0.75, "tcp.window", "app.driver-buffers", over(1)), saw(0.4, "app.few-buffers"),
					every(0.45, saw(0, "drops.on-board"), saw(0, "works", "lower-speed")), saw(0.3, "drops.on-board"),
				),
			},
			clues: []clue{
				saw(0.25, "works", "lower-speed"), atLeast(0.2, "tcp.stall", minRTO), saw(0.2, "drops.on-board"),
				saw(0.2, "app.error", "enobufs", "enomem"),
			},
			doubts: []clue{saw(0.6, "protocol", "udp"), saw(0.4, "varies", "clock-delay")}},
		{ID: "tcp.bursts", Code: "R-TCP-5",
			Group: Window,
			Title: "Loss on the way bounds goodput: bursts of a faster sender, or a lossy path",
			Ref:   "ESnet fasterdata, interface speed mismatch; RFC 5681",
			Gain:  "up to the slower link's rate",
			Trade: "pacing gives away short bursts",
			Next:  "pace the sender to the slower link's rate and count retransmissions",
			Levers: []result.Advice{
				{Lever: "qdisc.fq.maxrate", Value: "rate of the slower link", End: "sender"},
				{Lever: "sysctl.net.ipv4.tcp_congestion_control", Value: "bbr", End: "sender"},
			},
			needs: []clue{
				first(better(0.7, "slower-sender", much), atLeast(0.35, "tcp.retransmit-share", lossy),
					atLeast(0.3, "tcp.duplicate-acks", few), atLeast(0.25, "tcp.retransmits", few), some(0.2, "tcp.retransmits"),
					every(0.3, saw(0, "varies", "distance"), better(0, "short-path", much)),
				),
			},
			clues: []clue{
				ratio(0.45, "link.sender-speed", "link.speed", over(1.5)), saw(0.45, "varies", "distance"),
				saw(0.3, "varies", "saw-tooth"), better(0.4, "short-path", much), some(0.1, "tcp.retransmits"),
				saw(0.1, "works", "udp"),
			},
			doubts: []clue{
				saw(0.7, "tcp.hole-not-resent"), saw(0.6, "varies", "clock-delay"), some(0.6, "errors.late-collisions"),
				some(0.5, "errors.crc"), some(0.3, "drops.ring"), saw(0.4, "works", "lower-speed"),
				compare(0.7, "tcp.retransmit-share", under(lossy)),
			},
		},
		{ID: "tcp.lost-in-sender", Code: "R-TCP-6",
			Group: Window,
			Title: "The sender's NIC loses what TCP believes sent",
			Ref:   "raspberrypi/linux 2449; armbian/build 1736",
			Gain:  "transfers no longer stop",
			Trade: "more CPU for each byte",
			Next:  "switch TSO, then checksum offload off and repeat; capture at both ends",
			Levers: []result.Advice{
				{Lever: "ethtool.features.tso", Value: "off", End: "sender"},
				{Lever: "ethtool.features.tx", Value: "off", End: "sender"},
			},
			needs: []clue{
				first(saw(0.75, "tcp.hole-not-resent"), every(0.7, saw(0, "tcp.stops"), saw(0, "works", "offload-off")),
					every(0.45, saw(0, "tcp.stops"), some(0, "tcp.duplicate-acks")),
					every(0.4, saw(0, "tcp.stops"), some(0, "drops.tx")), every(0.35, saw(0, "works", "offload-off")),
				),
			},
			clues:  []clue{saw(0.3, "tcp.stops"), some(0.3, "drops.tx"), saw(0.1, "works", "small-packets")},
			doubts: []clue{saw(0.3, "link.virtual")}},
		{ID: "tcp.zero-window", Code: "R-TCP-7",
			Group: Window,
			Title: "The receiver closes its window: its application reads too slowly",
			Ref:   "RFC 9293 3.8.6; linux networking/snmp_counter",
			Gain:  "up to what the receiver can read",
			Trade: "fewer, larger reads delay the first byte",
			Next:  "read the CPU of the receiving process and core",
			needs: []clue{atLeast(0.5, "tcp.zero-windows", 1)}, clues: []clue{atLeast(0.3, "tcp.zero-windows", few)}},
		{ID: "tcp.pruned", Code: "R-TCP-8",
			Group:  Window,
			Title:  "The receive buffer is short for packets this small",
			Ref:    "linux networking/snmp_counter",
			Gain:   "no copying and dropping in the receive queue",
			Trade:  "memory for each connection",
			Next:   "double tcp_rmem's third number and watch the counters",
			Levers: []result.Advice{{Lever: "sysctl.net.ipv4.tcp_rmem", Value: "4096 131072 16777216", End: "receiver"}},
			needs:  []clue{first(some(0.45, "tcp.pruned"), some(0.3, "tcp.collapsed"))},
			clues:  []clue{every(0.3, some(0, "tcp.pruned"), some(0, "tcp.collapsed"))},
		},
		{ID: "tcp.memory", Code: "R-TCP-9",
			Group: Window,
			Title: "TCP runs short of memory on the whole box",
			Ref:   "linux networking/ip-sysctl tcp_mem",
			Gain:  "windows no longer shrink", Trade: "memory for other programs", Next: "read proc/net/sockstat beside tcp_mem",
			Levers: []result.Advice{{Lever: "sysctl.net.ipv4.tcp_mem", Value: "twice the present"}},
			needs:  []clue{some(0.6, "tcp.memory-pressure")},
		},
		{ID: "tcp.delayed-ack", Code: "R-TCP-10",
			Group: Window,
			Title: "Each exchange waits for a delayed ACK",
			Ref:   "RFC 9293 3.7.4; RFC 1122 4.2.3.2",
			Gain:  "exchanges as fast as the round trip",
			Trade: "more small segments",
			Next:  "write each message with one call, or set TCP_NODELAY, and count exchanges",
			Levers: []result.Advice{
				{Lever: "socket.TCP_NODELAY", Value: "on", End: "sender"},
				{Lever: "stack.send-buffer", Value: "4 segments or more", End: "sender"},
			},
			needs: []clue{
				first(delayedACK(0.55, "tcp.stall"), atLeast(0.45, "app.writes-per-message", 2),
					every(0.5, oneSegment(), delayedACK(0, "tcp.ack-delay")), every(0.5, oneSegment(), slow(0, "goodput", nearDead)),
				),
			},
			clues: []clue{
				oneSegment(), delayedACK(0.3, "tcp.ack-delay"), compare(0.3, "app.exchanges", under(30)),
				atLeast(0.2, "app.writes-per-message", 2),
			},
			doubts: []clue{saw(0.9, "protocol", "udp"), saw(0.5, "drops.on-board"), saw(0.3, "tcp.ack-at-full-window")}},
		{ID: "tcp.mtu", Code: "R-TCP-12",
			Group: Window,
			Title: "Large packets do not get through",
			Ref:   "RFC 1191; RFC 4821; esnet/iperf 955",
			Gain:  "transfers run", Trade: "smaller frames cost more CPU", Next: "ping -M do -s MTU-28 along the path",
			Levers: []result.Advice{{Lever: "link.mtu", Value: "1500"}, {Lever: "sysctl.net.ipv4.tcp_mtu_probing", Value: "1"}},
			needs: []clue{
				first(ratio(0.9, "link.path-mtu", "link.mtu", under(fewer)),
					every(0.6, atLeast(0, "link.mtu", 1501), first(saw(0, "tcp.stops"), slow(0, "goodput", nearDead), atMost(0, "goodput", 0))),
					saw(0.45, "fails", "large-packets"),
				),
			},
			clues:  []clue{saw(0.25, "works", "small-packets"), saw(0.2, "tcp.stops"), saw(0.1, "works", "ping", "connect")},
			doubts: []clue{saw(0.5, "works", "offload-off"), saw(0.4, "link.virtual"), saw(0.6, "link.clock", "wrong")}},
		{ID: "tcp.timeouts", Code: "R-TCP-13",
			Group: Window,
			Title: "The tail of bursts is lost and waits for a timeout",
			Ref:   "RFC 6298; RFC 8985",
			Gain:  "no pauses", Trade: "none", Next: "find where the packets are dropped: ring, backlog, socket, switch",
			needs: []clue{
				first(every(0.45, some(0, "tcp.timeouts"), atLeast(0, "tcp.stall", minRTO)), some(0.35, "tcp.timeouts"),
					every(0.3, atLeast(0, "tcp.stall", minRTO), losing()),
				),
			},
			doubts: []clue{saw(0.6, "protocol", "udp"), oneSegment(), delayedACK(0.3, "tcp.ack-delay")}},
		{ID: "tcp.ack-at-full-window", Code: "R-TCP-14",
			Group: Window,
			Title: "The ACK is delayed while the window is full",
			Ref:   "RFC 1122 4.2.3.2; RFC 9293 3.8.6.3",
			Gain:  "from one window for each delay to line rate",
			Trade: "more ACKs",
			Next:  "capture: is the gap after a full window the ACK timer?",
			Levers: []result.Advice{
				{Lever: "stack.ack-every", Value: "2 full segments", End: "receiver"},
				{Lever: "stack.receive-window", Value: "larger", End: "receiver"},
			},
			needs: []clue{
				first(saw(0.75, "tcp.ack-at-full-window"),
					every(0.6, saw(0, "tcp.window-short"), atLeast(0, "tcp.ack-delay", leastACKDelay)),
					every(0.4, saw(0, "tcp.window-short"), delayedACK(0, "tcp.stall")),
				),
			},
			clues: []clue{saw(0.2, "tcp.window-short"), atLeast(0.2, "tcp.ack-delay", leastACKDelay)}},
	}
}

// unscaled judges the 64 KiB that the header's window field can say: it is a
// limit only where the round trip is long enough.
func unscaled(v View) (result.Finding, bool) {
	window, known := v.Window()
	off, _ := v.Seen("tcp.window-scaling", "off")
	if !off && (!known || window < 0.97*65535 || window > 65536) {
		return result.Finding{}, false
	}
	if !known {
		window = 65535
	}
	f := result.Finding{Verdict: result.Unknown, Confidence: 0.4, Evidence: []result.Value{result.TCPWindow.Of(window)},
		Text: fmt.Sprintf("the window stays at %.0f bytes", window),
		Next: "capture the handshake: which end offers no window scale option?",
		Gain: "a window as large as the path needs", Trade: "memory for each connection",
		Levers: []result.Advice{{Lever: "sysctl.net.ipv4.tcp_window_scaling", Value: "1", End: "both"}}}
	rtt, ok := v.Get(result.TCPRTT)
	if !ok || rtt <= 0 {
		return f, off
	}
	bound := window * 8 / rtt
	f.Evidence = append(f.Evidence, result.TCPRTT.Of(rtt))
	f.Text += fmt.Sprintf(": over %.3g ms that allows %s", rtt*1e3, result.FormatRate(bound))
	got, gotOK := v.Goodput()
	line, lineOK := v.Get(result.LineLimit)
	held, _ := v.Share(result.TCPRwndLimited, result.TCPBusy) // a share of the same run: load stretches both
	switch {
	case off && held >= limitedShare && (!lineOK || bound <= line):
		f.Verdict, f.Confidence = result.Limits, 0.93
		f.Text += fmt.Sprintf(", and the sender waited for it %.0f %% of its busy time", 100*held)
	case gotOK && got < windowFilled*bound || lineOK && bound > line:
		f.Verdict, f.Confidence, f.Next = result.DoesNotLimit, 0.8, ""
		f.Text += ", more than is used"
		f.Gain, f.Trade, f.Levers = "", "", nil
	case gotOK && off: // known to be off explains the window that others see
		f.Verdict, f.Confidence = result.Limits, 0.93
	case gotOK:
		f.Verdict, f.Confidence = result.Limits, 0.85
	}
	return f, true
}

// delayedACK holds for a time that is a small multiple of what stacks delay an
// ACK by: 40 ms (Linux) or 200 ms (BSD, Windows).
func delayedACK(weight float64, key string) clue {
	return compare(weight, key, func(s float64) bool {
		for _, timer := range []float64{0.040, 0.200} {
			k := math.Round(s / timer)
			if k >= 1 && k <= 3 && math.Abs(s-k*timer) <= 0.1*timer {
				return true
			}
		}
		return false
	})
}

// oneSegment holds where a segment or two are in flight at most.
func oneSegment() clue {
	return clue{[]string{"tcp.in-flight", "tcp.window", "tcp.send-buffer", "tcp.mss"}, func(v View) sign {
		mss, ok := v.Number("tcp.mss")
		if !ok {
			mss = 1460
		}
		for _, c := range []clue{atMost(0.35, "tcp.in-flight", mss), atMost(0.35, "tcp.window", mss), atMost(0.35, "tcp.send-buffer", 2*mss)} {
			if s := c.look(v); s.holds {
				return s
			}
		}
		return sign{}
	}}
}

// windowShare holds where goodput is the better part of window / RTT, though
// not near enough for the closed form.
func windowShare(weight float64) clue {
	return clue{[]string{"goodput", "tcp.window", "tcp.rtt"}, func(v View) sign {
		got, ok := v.Goodput()
		window, rtt, form := windowAndRTT(v)
		if !ok || !form {
			return sign{}
		}
		bound := window * 8 / rtt
		if got < windowShareLeast*bound || got >= windowFilled*bound {
			return sign{}
		}
		return sign{true, weight, []string{fmt.Sprintf("%s of the %s that window / RTT allows", result.FormatBits(got), result.FormatBits(bound))},
			[]result.Value{result.TCPWindow.Of(window), result.TCPRTT.Of(rtt)}}
	}}
}
