package result

// What a person saw on a board, read from its settings or worked out from its
// counters, for explain. Labels: fact, value, with, direction, state, part,
// what, end.
var (
	Observed        = Metric{"observed", Gauge, "1", "observed", "A setting or a symptom by fact and value: 1 it is so, 0 it is not.", ""}
	ComparedGoodput = Metric{"compared_goodput_bits_per_second", Gauge, "bit/s", "compared", "Goodput with one thing done otherwise, named by the label.", "RFC 2647 3.17"}
	LineRateMax     = Metric{"line_rate_max_bits_per_second", Gauge, "bit/s", "max rate", "Fastest line rate that both ends can negotiate.", "IEEE 802.3 28"}
	LinkPorts       = Metric{"link_ports", Gauge, "1", "ports", "Ports or members used together.", ""}
	LinkMTU         = Metric{"link_mtu_bytes", Gauge, "B", "MTU", "Largest packet that an interface sends.", "RFC 1191"}
	PathMTU         = Metric{"path_mtu_bytes", Gauge, "B", "path MTU", "Largest packet that arrives.", "RFC 1191"}
	BusLimit        = Metric{"bus_limit_bits_per_second", Gauge, "bit/s", "bus limit", "Greatest payload rate of what joins the NIC to memory.", ""}
	PCIeGeneration  = Metric{"pcie_generation", Gauge, "1", "PCIe", "PCIe generation in use.", "PCI Express Base Specification"}
	PCIeLanes       = Metric{"pcie_lanes", Gauge, "1", "lanes", "PCIe lanes in use.", "PCI Express Base Specification"}
	StorageRate     = Metric{"storage_bits_per_second", Gauge, "bit/s", "storage", "Rate of the disk or card the data comes from or goes to.", ""}
	PauseFrames     = Metric{"pause_frames_total", Counter, "frame", "pause", "Pause frames by direction (rx, tx).", "IEEE 802.3 31B"}
	RingEntries     = Metric{"ring_entries", Gauge, "1", "ring", "Descriptors of the receive ring: set, and greatest.", ""}

	StreamsTried     = Metric{"streams", Gauge, "1", "streams", "Connections or flows used at once.", ""}
	WriteSize        = Metric{"write_bytes", Gauge, "B", "write", "Bytes of one write of the application.", ""}
	WritesPerMessage = Metric{"writes_per_message", Gauge, "1", "writes/message", "Writes that one message is made of.", ""}
	WaitsPerSend     = Metric{"waits_per_send", Gauge, "1", "waits/send", "Voluntary context switches for each send.", "getrusage(2) ru_nvcsw"}
	StallSeconds     = Metric{"stall_seconds", Gauge, "s", "pause", "Usual length of the pauses of a transfer.", ""}
	ACKDelay         = Metric{"ack_delay_seconds", Gauge, "s", "ACK delay", "Time by which acknowledgements are delayed.", "RFC 1122 4.2.3.2"}
	TCPBufferCeiling = Metric{"tcp_buffer_ceiling_bytes", Gauge, "B", "buffer ceiling", "Most that the kernel tunes a socket's buffer to.", "linux networking/ip-sysctl tcp_rmem, tcp_wmem"}
	CwndBytes        = Metric{"tcp_congestion_window_bytes", Gauge, "B", "cwnd", "Congestion window.", "RFC 5681 2"}
	DuplicateACKs    = Metric{"tcp_duplicate_acks_total", Counter, "1", "dup ACKs", "Duplicate acknowledgements.", "RFC 5681 2"}
	RetransmitShare  = Metric{"tcp_retransmit_ratio", Gauge, "1", "resent", "Share of data segments sent again.", "RFC 9293"}

	CoreBusy            = Metric{"cpu_busy_ratio", Gauge, "1", "busy", "Share of one core's time that is used, by part: busiest, others, process, softirq, steal, and symbols of a profile.", ""}
	CoresBusy           = Metric{"cpu_cores_full", Gauge, "1", "full cores", "Cores without time to spare.", ""}
	CyclesPerByte       = Metric{"cpu_cycles_per_byte", Gauge, "1/B", "cycles/B", "Clock cycles that one byte of payload costs.", ""}
	CyclesPerSend       = Metric{"cpu_cycles_per_send", Gauge, "1", "cycles/send", "Clock cycles of the transmit routine, least and greatest.", ""}
	PacketsPerInterrupt = Metric{"packets_per_interrupt", Gauge, "1", "packets/irq", "Packets received for each interrupt.", ""}
	InterruptRate       = Metric{"interrupts_per_second", Gauge, "1/s", "irq/s", "Receive interrupts per second.", ""}
	PacketsPerPoll      = Metric{"napi_packets_per_poll", Gauge, "1", "packets/poll", "Packets handled by one poll.", "linux networking/napi"}
	NAPIBudget          = Metric{"napi_budget_packets", Gauge, "packet", "budget", "Packets that one receive softirq may handle.", "linux admin-guide/sysctl/net netdev_budget"}
	FullPolls           = Metric{"napi_full_polls_ratio", Gauge, "1", "full polls", "Share of polls that used up their budget.", "linux networking/napi"}
	CoalesceTime        = Metric{"coalesce_seconds", Gauge, "s", "coalescing", "Time an interrupt is held back, by state: set, written, read, flush.", "ethtool(8) -C"}
	ConntrackEntries    = Metric{"conntrack_entries", Gauge, "1", "conntrack", "Connections tracked: now, the greatest number, hash buckets.", "linux networking/nf_conntrack-sysctl"}
	DriverBuffers       = Metric{"driver_buffer_bytes", Gauge, "B", "driver buffers", "Data that the receiving driver can hold.", ""}
)

func factMetrics() []Metric {
	return []Metric{Observed, ComparedGoodput, LineRateMax, LinkPorts, LinkMTU, PathMTU, BusLimit, PCIeGeneration, PCIeLanes, StorageRate, PauseFrames, RingEntries,
		StreamsTried, WriteSize, WritesPerMessage, WaitsPerSend, StallSeconds, ACKDelay, TCPBufferCeiling, CwndBytes, DuplicateACKs, RetransmitShare,
		CoreBusy, CoresBusy, CyclesPerByte, CyclesPerSend, PacketsPerInterrupt, InterruptRate, PacketsPerPoll, NAPIBudget, FullPolls, CoalesceTime, ConntrackEntries, DriverBuffers}
}
