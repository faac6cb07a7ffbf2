package facts

import (
	"slices"
	"strings"

	"github.com/linerate/linerate/result"
)

func number(key string, k Kind, m result.Metric, help string, labels ...string) Fact {
	return Fact{Key: key, Kind: k, Help: help, Metric: m, Labels: labels}
}

func flag(key, help string) Fact { return Fact{Key: key, Kind: Flag, Help: help} }

func choice(key, values, help string) Fact {
	return Fact{Key: key, Kind: Choice, Values: strings.Fields(values), Help: help}
}

func list(key, values, help string) Fact {
	return Fact{Key: key, Kind: List, Values: strings.Fields(values), Help: help}
}

// Table lists every fact, by the part of the link it tells of.
func Table() []Fact {
	return slices.Concat(testFacts(), comparedFacts(), linkFacts(), tcpFacts(), applicationFacts(), cpuFacts(), interruptFacts(), dropFacts(), offloadFacts())
}

func testFacts() []Fact {
	return []Fact{
		{Key: "board", Kind: Text, Help: "the board or box that is slow; only shown"},
		{Key: "note", Kind: Text, Help: "anything else; only shown"},
		choice("protocol", "tcp udp", "what carries the data"),
		choice("role", "endpoint forwarder", "whether the board ends the traffic or passes it on"),
		number("goodput", Rate, result.Goodput, "payload rate, where the direction is not known or both are alike"),
		number("goodput.tx", Rate, result.Goodput, "payload rate of what the board sends", "direction", "tx"),
		number("goodput.rx", Rate, result.Goodput, "payload rate of what the board receives", "direction", "rx"),
		number("test.offered", Rate, result.IntendedRate, "rate asked of the sender"),
		number("test.sent", Rate, result.SentRate, "rate that the sender says it sent"),
		number("test.bytes", Size, result.Bytes, "payload of the whole test"),
		number("test.duration", Time, result.CPUSeconds, "length of the test"), // becomes Result.Duration
		number("test.streams", Count, result.StreamsTried, "connections or flows at once"),
		choice("test.tool", "iperf2 iperf3 netperf ftp other", "what measured"),
		{Key: "test.tool-version", Kind: Text, Help: "its version, such as 3.7"},
		flag("test.report-missing", "the receiver's report never came: the rate is the sender's count, or the control packets were lost too"),
		flag("test.storage", "the data comes from or goes to a disk, a card or a USB stick"),
		number("test.storage-rate", Rate, result.StorageRate, "what that storage does alone"),
	}
}

func comparedFacts() []Fact {
	other := func(with, help string) Fact {
		return number("compared."+with, Rate, result.ComparedGoodput, help, "with", with)
	}
	return []Fact{
		list("works", "tx rx tcp udp lower-speed other-peer other-cable other-kernel small-packets offload-off gro-off pause-on short-path low-load ping connect",
			"what is as it should be: a direction, a protocol, or the same test with that one thing changed"),
		list("fails", "tx rx tcp udp large-packets connect ping other-peer", "what is slow, lossy or dead"),
		list("same", "load streams ports size settings direction buffers", "what makes no difference to the rate: a plateau"),
		list("varies", "runs uptime load distance clock-delay core saw-tooth", "what the rate or the loss changes with"),
		other("udp", "goodput of UDP, where TCP is described"),
		other("other-peer", "goodput with another machine, adapter or port at the far end"),
		other("lower-speed", "goodput with the link at a lower speed"),
		other("slower-sender", "goodput from a sender on a slower link"),
		other("short-path", "goodput over a short path"),
		other("larger-mtu", "goodput with a larger MTU"),
		other("more-streams", "sum of the goodput of several streams or processes"),
		other("one-port", "goodput of one port alone"),
		other("faster-clock", "goodput with the CPU at a higher clock"),
		other("other-core", "goodput with the program or its thread on another core"),
		other("after-boot", "goodput soon after the start"),
		other("offload-off", "goodput with an offload switched off"),
	}
}

func linkFacts() []Fact {
	return []Fact{
		number("link.speed", Rate, result.LineRate, "speed the link runs at"),
		number("link.speed-max", Rate, result.LineRateMax, "fastest speed that both ends can do"),
		number("link.sender-speed", Rate, result.LineRate, "speed of the sender's own link, where it differs", "end", "sender"),
		number("link.ports", Count, result.LinkPorts, "ports used at once, each of link.speed"),
		choice("link.duplex", "full half", "duplex at the board"),
		choice("link.peer-duplex", "full half", "duplex at the other end of the cable"),
		flag("link.forced", "speed or duplex is set by hand at one end, without negotiation"),
		flag("link.flaps", "the link or the connection drops again and again"),
		flag("link.virtual", "the path has a virtual interface: veth, tap, bridge, virtio, tunnel, container"),
		flag("link.bond", "several links are bundled: bond, team, LAG, ECMP"),
		number("link.mtu", Size, result.LinkMTU, "MTU of the interface"),
		number("link.path-mtu", Size, result.PathMTU, "largest packet that arrives (ping -M do -s)"),
		choice("link.pause", "on off", "flow control with pause frames"),
		choice("link.eee", "off enabled active", "energy-efficient Ethernet (ethtool --show-eee)"),
		choice("link.phy-driver", "vendor generic wrong", "driver of the PHY"),
		choice("link.clock", "right external wrong", "reference clock of the PHY or MAC: taken from outside, or known to be off"),
		number("errors.crc", Count, result.NICLinkStat, "frames with a bad FCS", "stat", "rx_crc_errors"),
		number("errors.align", Count, result.NICLinkStat, "frames with alignment errors", "stat", "rx_frame_errors"),
		number("errors.late-collisions", Count, result.NICLinkStat, "late collisions", "stat", "tx_window_errors"),
		number("errors.frames", Count, result.NICFrames, "frames received, to compare errors with", "direction", "rx"),
		number("pause.rx", Count, result.PauseFrames, "pause frames that the board receives: its peer asks it to stop", "direction", "rx"),
		number("pause.tx", Count, result.PauseFrames, "pause frames that the board sends: it cannot take more", "direction", "tx"),
		choice("bus.kind", "usb2 usb3 pcie other", "what joins the NIC to memory"),
		number("bus.pcie-generation", Count, result.PCIeGeneration, "PCIe generation in use"),
		number("bus.pcie-lanes", Count, result.PCIeLanes, "PCIe lanes in use"),
		number("bus.limit", Rate, result.BusLimit, "greatest rate that the vendor or another test gives for this MAC or bus"),
		choice("bus.aspm", "on off", "PCIe power saving (ASPM L0s, L1) of the NIC"),
	}
}

func tcpFacts() []Fact {
	stack := func(key, counter, help string) Fact {
		return number(key, Count, result.NetworkCounter, help, "counter", counter)
	}
	return []Fact{
		number("tcp.window", Size, result.TCPWindow, "greatest receive window that the receiver offers, scaled"),
		flag("tcp.window-short", "the receive window is short: a few segments"),
		choice("tcp.window-scaling", "on off", "window scaling (RFC 7323)"),
		choice("tcp.timestamps", "on off", "timestamps option (RFC 7323)"),
		number("tcp.rtt", Time, result.TCPRTT, "round-trip time under load"),
		number("tcp.rtt-idle", Time, result.TCPMinRTT, "round-trip time of an idle link"),
		number("tcp.cwnd", Size, result.CwndBytes, "congestion window of the sender"),
		number("tcp.in-flight", Size, result.TCPInFlight, "bytes sent and not acknowledged"),
		number("tcp.mss", Size, result.TCPMSS, "payload of a full segment"),
		number("tcp.send-buffer", Size, result.TCPSendBuffer, "send buffer of the socket"),
		number("tcp.send-ceiling", Size, result.TCPBufferCeiling, "most that the kernel tunes a send buffer to (third number of tcp_wmem)", "end", "sender"),
		number("tcp.receive-ceiling", Size, result.TCPBufferCeiling, "most that the kernel tunes a receive buffer to (third number of tcp_rmem)", "end", "receiver"),
		flag("tcp.buffer-set", "the application sets SO_SNDBUF or SO_RCVBUF"),
		number("tcp.rwnd-limited", Share, result.TCPRwndLimited, "share of busy time held back by the receive window (ss -ti)"),
		number("tcp.sndbuf-limited", Share, result.TCPSndbufLimited, "share of busy time held back by the send buffer (ss -ti)"),
		number("tcp.segments", Count, result.DataSegmentsOut, "data segments sent"),
		number("tcp.retransmits", Count, result.TCPRetransmits, "segments sent again"),
		number("tcp.retransmit-share", Share, result.RetransmitShare, "share of segments sent again"),
		number("tcp.duplicate-acks", Count, result.DuplicateACKs, "duplicate acknowledgements or SACKs"),
		flag("tcp.hole-not-resent", "duplicate ACKs ask for a segment that is never sent again"),
		flag("tcp.ack-at-full-window", "the receiver delays its ACK while the sender has filled the window and waits"),
		flag("tcp.ack-handling-late", "ACKs are on the wire in time, but the sender's stack sees them late while it transmits"),
		number("tcp.segments-per-ack", Count, result.SegmentsPerACK, "data segments for each ACK"),
		number("tcp.bytes-per-ack", Size, result.BytesPerACK, "payload for each ACK"),
		number("tcp.ack-delay", Time, result.ACKDelay, "time by which ACKs are delayed"),
		number("tcp.stall", Time, result.StallSeconds, "usual length of the pauses, or time of one exchange"),
		flag("tcp.stops", "transfers stop for good, or hang"),
		number("tcp.zero-windows", Count, result.TCPZeroWindows, "times the receive window closed"),
		stack("tcp.timeouts", "TcpExtTCPTimeouts", "retransmission timeouts"),
		stack("tcp.pruned", "TcpExtPruneCalled", "times the receive queue was pruned"),
		stack("tcp.collapsed", "TcpExtTCPRcvCollapsed", "segments merged for lack of receive buffer"),
		stack("tcp.memory-pressure", "TcpExtTCPMemoryPressures", "times TCP ran short of memory (tcp_mem)"),
	}
}

func applicationFacts() []Fact {
	return []Fact{
		number("app.write-size", Size, result.WriteSize, "bytes of one write or send"),
		number("app.frame-size", Size, result.FrameSize, "length of data frames in a capture"),
		number("app.writes-per-message", Count, result.WritesPerMessage, "writes that one message or response is made of"),
		number("app.exchanges", Count, result.TransactionRate, "requests answered, or messages, per second"),
		flag("app.sleeps", "the send loop yields, sleeps or waits between sends"),
		number("app.waits-per-send", Count, result.WaitsPerSend, "voluntary context switches for each send"),
		flag("app.debug-build", "the program or driver is built without optimisation"),
		number("app.cpu", Share, result.CoreBusy, "share of a core that the program uses", "part", "process"),
		choice("app.error", "enomem enobufs refused other", "error that sends, accepts or allocations return"),
		flag("app.few-buffers", "the stack or the driver has few packet buffers"),
		number("app.driver-buffers", Size, result.DriverBuffers, "data that the receiving driver's buffers hold"),
		flag("app.after-buffer-change", "it began when buffers were made larger"),
	}
}

func cpuFacts() []Fact {
	part := func(key, name, help string) Fact {
		return number(key, Share, result.CoreBusy, help, "part", name)
	}
	return []Fact{
		part("cpu.busiest", "busiest", "busy share of the busiest core"),
		part("cpu.others", "others", "busy share of the busiest of the other cores"),
		part("cpu.softirq", "softirq", "share of the busiest core in interrupts and softirqs"),
		part("cpu.steal", "steal", "share taken by other machines of the host"),
		part("cpu.other-programs", "other programs", "share of the busiest core that programs other than the measured take"),
		number("cpu.full-cores", Count, result.CoresBusy, "cores without time to spare"),
		flag("cpu.bound", "the CPU is known to be the limit"),
		flag("cpu.shared-core", "the program, or a driver's thread, runs on the core that takes the interrupts"),
		number("cpu.clock", Clock, result.CPUClock, "clock of the CPU during the test"),
		number("cpu.clock-max", Clock, result.CPUClockMax, "greatest clock of the CPU"),
		choice("cpu.governor", "performance ondemand conservative schedutil powersave userspace", "cpufreq governor"),
		flag("cpu.deep-idle", "idle states with a long way back (C-states, WAIT mode) are on"),
		list("cpu.hot", "checksum copy timer lock interrupt softirq segmentation driver cache", "what leads the CPU's profile, or is known to be done in software"),
		part("cpu.profile-checksum", "checksum", "share of a profile in checksum routines"),
		part("cpu.profile-timer", "timer", "share of a profile in timers and spin locks"),
		part("cpu.profile-segmentation", "segmentation", "share of a profile in software segmentation"),
		number("cpu.message-cost", Time, result.MessageCost, "a of the time per message t = a + b m"),
		number("cpu.byte-cost", Time, result.ByteCost, "b of the time per message t = a + b m, per byte"),
		number("cpu.cycles-per-byte", Count, result.CyclesPerByte, "cycles to copy or check one byte"),
		number("cpu.send-cycles-min", Count, result.CyclesPerSend, "least cycles of the driver's transmit routine", "bound", "least"),
		number("cpu.send-cycles-max", Count, result.CyclesPerSend, "greatest cycles of the driver's transmit routine", "bound", "greatest"),
		choice("cpu.cache", "on off l1-only", "caches of the CPU"),
		choice("cpu.dma-memory", "cached uncached coherent header-only", "memory the NIC writes packets to"),
	}
}

func interruptFacts() []Fact {
	return []Fact{
		number("irq.frames", Count, result.FrameRate, "frames per second"),
		number("irq.rate", Count, result.InterruptRate, "receive interrupts per second"),
		number("irq.packets-per-interrupt", Count, result.PacketsPerInterrupt, "packets received for each interrupt"),
		flag("irq.one-packet-drain", "the interrupt routine takes one packet and leaves the others"),
		flag("irq.tx-per-packet", "each packet sent causes an interrupt, or arms a timer"),
		flag("irq.one-core", "all interrupts and packet work are on one core"),
		flag("irq.steered-one", "receive packet steering (RPS) names a single core"),
		number("irq.budget", Count, result.NAPIBudget, "packets that one receive softirq may handle (netdev_budget)"),
		flag("irq.steering-off", "neither several queues nor packet steering (RPS) spread the load"),
		number("irq.packets-per-poll", Count, result.PacketsPerPoll, "packets handled by one NAPI poll"),
		number("irq.full-polls", Share, result.FullPolls, "share of polls that use up their budget"),
		number("irq.coalesce", Time, result.CoalesceTime, "time that coalescing holds interrupts back (rx-usecs)", "state", "set"),
		number("irq.coalesce-written", Time, result.CoalesceTime, "rx-usecs that was asked for", "state", "written"),
		number("irq.coalesce-read", Time, result.CoalesceTime, "rx-usecs that reads back", "state", "read"),
		flag("irq.coalesce-ignored", "changing coalescing changes nothing: rate of interrupts, CPU, packets"),
		number("irq.flush-timeout", Time, result.CoalesceTime, "gro_flush_timeout", "state", "flush"),
		choice("irq.pacing", "none since-interrupt since-first since-last", "pacing mode of the interrupt controller (KeyStone accumulator)"),
		flag("irq.latency-bound", "requests and answers, not bulk: each waits for the one before"),
	}
}

func dropFacts() []Fact {
	nic := func(key, stat, help string) Fact {
		return number(key, Count, result.NICLinkStat, help, "stat", stat)
	}
	return []Fact{
		number("drops.ring", Count, result.NICDropped, "frames missed for lack of a receive descriptor (rx_missed, no buffer)", "direction", "rx", "reason", "missed"),
		nic("drops.fifo", "rx_fifo_errors", "receive overruns of the NIC's FIFO or ring"),
		number("drops.rx", Count, result.NICDropped, "frames dropped on receive, place not known", "direction", "rx", "reason", "dropped"),
		number("drops.tx", Count, result.NICDropped, "frames dropped on transmit, or transmit errors", "direction", "tx", "reason", "dropped"),
		flag("drops.on-board", "frames are on the wire but never reach the board's stack"),
		flag("drops.seen", "packets are lost, count and place not known"),
		number("drops.loss", Share, result.LossRatio, "share of datagrams lost"),
		number("drops.softnet", Count, result.SoftnetDropped, "softnet backlog drops"),
		number("drops.squeezed", Count, result.SoftnetSqueezed, "softnet time_squeeze"),
		number("drops.socket", Count, result.NetworkCounter, "datagrams dropped for a full socket buffer (UdpRcvbufErrors, netstat -us)", "counter", "UdpRcvbufErrors"),
		flag("drops.socket-buffers-tried", "larger socket buffers change nothing"),
		number("drops.qdisc", Count, result.NetworkCounter, "drops of the queueing discipline (tc -s qdisc)", "counter", "QdiscDrops"),
		number("drops.requeues", Count, result.NetworkCounter, "requeues of the queueing discipline", "counter", "QdiscRequeues"),
		number("ring.rx", Count, result.RingEntries, "receive descriptors in use (ethtool -g)", "bound", "set"),
		number("ring.rx-max", Count, result.RingEntries, "receive descriptors at most", "bound", "greatest"),
		flag("conntrack.table-full", "the kernel's log says: nf_conntrack: table full"),
		number("conntrack.count", Count, result.ConntrackEntries, "connections tracked", "bound", "now"),
		number("conntrack.max", Count, result.ConntrackEntries, "connections tracked at most", "bound", "greatest"),
		number("conntrack.buckets", Count, result.ConntrackEntries, "hash buckets of connection tracking", "bound", "buckets"),
		number("conntrack.insert-failed", Count, result.NetworkCounter, "insert_failed and early_drop of connection tracking", "counter", "ConntrackFailed"),
	}
}

func offloadFacts() []Fact {
	return []Fact{
		choice("offload.checksum", "on off", "checksums in hardware; off: in software"),
		choice("offload.tso", "on off", "TCP segmentation offload"),
		choice("offload.gro", "on off", "generic receive offload"),
		choice("offload.sg", "on off", "scatter-gather"),
		choice("offload.other", "on off", "another feature that is available and not fixed: off on a device of the path"),
		flag("offload.not-honoured", "frames of a segmentation or checksum offload arrive broken, oversized or not at all"),
	}
}
