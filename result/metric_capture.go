package result

// What a capture shows beyond the TCP group. Labels: flow, direction, reason,
// state, cause.
var (
	CapturePackets    = Metric{"capture_packets_total", Counter, "packet", "packets", "Packets read from the capture.", ""}
	CaptureBytes      = Metric{"capture_bytes_total", Counter, "B", "captured", "Bytes on the wire of the packets read.", ""}
	CaptureUndecoded  = Metric{"capture_undecoded_total", Counter, "packet", "undecoded", "Packets without a transport header to analyse, by reason.", ""}
	CaptureDuplicates = Metric{"capture_duplicates_total", Counter, "packet", "captured twice", "Packets captured more than once.", ""}
	CaptureDrops      = Metric{"capture_drops_total", Counter, "packet", "not captured", "Packets that the capturing tool says it lost.", ""}
	CaptureUnseen     = Metric{"capture_unseen_ratio", Gauge, "1", "unseen", "Share of the acknowledged bytes that the capture missed.", ""}
	CaptureClockSteps = Metric{"capture_clock_steps_total", Counter, "1", "clock steps", "Times the capturing clock was set while it ran.", ""}
	CaptureFlows      = Metric{"capture_flows", Gauge, "1", "flows", "Flows seen, of TCP and UDP.", ""}

	TCPStateSeconds   = Metric{"tcp_state_seconds_total", Counter, "s", "time", "Time by what held the sender back: open (congestion window, pacing, host or link), idle, application, receive window, zero window, recovery.", ""}
	TCPResent         = Metric{"tcp_resent_total", Counter, "segment", "resent", "Retransmissions by cause: fast, timeout, tail loss probe, spurious.", "RFC 6675, RFC 6298, RFC 8985"}
	TCPReordered      = Metric{"tcp_reordered_total", Counter, "segment", "reordered", "Segments that arrived after later ones.", "RFC 4737"}
	TCPDuplicated     = Metric{"tcp_duplicated_total", Counter, "segment", "duplicated", "Segments that the network delivered twice.", "RFC 5560"}
	TCPLossEvents     = Metric{"tcp_loss_events_total", Counter, "1", "loss events", "Times the sender began to repair a loss.", "RFC 6675"}
	TCPZeroWindows    = Metric{"tcp_zero_windows_total", Counter, "1", "zero windows", "Times the receive window closed.", "RFC 9293 3.8.6"}
	TCPZeroWindowACKs = Metric{"tcp_zero_window_acks_total", Counter, "segment", "zero window ACKs", "Acknowledgements that offered no window.", "RFC 9293 3.8.6"}
	TCPQueueDelay     = Metric{"tcp_queue_delay_seconds", Gauge, "s", "queue", "Usual delay above the path's own, by direction.", ""}
	TCPWindowBound    = Metric{"tcp_window_bound_bits_per_second", Gauge, "bit/s", "window / RTT", "Greatest rate that the receive window allows.", "RFC 7323 1.1"}
	TCPLossBound      = Metric{"tcp_loss_bound_bits_per_second", Gauge, "bit/s", "loss bound", "Greatest rate at this loss, of a sender that halves its window.", "Mathis, Semke, Mahdavi, Ott, CCR 27(3) 1997"}
	TCPWireRate       = Metric{"tcp_wire_bits_per_second", Gauge, "bit/s", "wire rate", "Rate with the byte times of all headers, preambles and gaps of an Ethernet.", "IEEE 802.3"}
	TCPACKRate        = Metric{"tcp_acks_per_second", Gauge, "1/s", "ACKs/s", "Pure acknowledgements per second.", "RFC 5681 4.2"}
	TCPACKsBySegments = Metric{"tcp_acks_by_segments_total", Counter, "segment", "ACKs by size", "Pure acknowledgements by the number of segments they cover.", "RFC 5681 4.2"}
	TCPSequence       = Metric{"tcp_sequence_bytes", Gauge, "B", "sequence", "Position in the sequence space since the first byte: sent, acknowledged, window edge.", "RFC 9293 3.4"}
	TCPOneWayDelay    = Metric{"tcp_one_way_seconds", Gauge, "s", "one-way delay", "Delay from one capture point to the other.", "RFC 7679"}
	TCPNetworkLost    = Metric{"tcp_network_lost_total", Counter, "segment", "lost between", "Segments sent past one capture point that never passed the other.", "RFC 7680"}

	UDPDatagrams = Metric{"udp_datagrams_total", Counter, "datagram", "datagrams", "Datagrams of one flow and direction.", "RFC 768"}
	UDPLost      = Metric{"udp_lost_total", Counter, "datagram", "lost", "Datagrams missing by the numbers that the sender wrote.", "RFC 2680"}
	UDPGap       = Metric{"udp_gap_seconds", Gauge, "s", "gap", "Time between datagrams, by quantile.", ""}
)

func captureMetrics() []Metric {
	return []Metric{CapturePackets, CaptureBytes, CaptureUndecoded, CaptureDuplicates, CaptureDrops, CaptureUnseen, CaptureClockSteps, CaptureFlows,
		TCPStateSeconds, TCPResent, TCPReordered, TCPDuplicated, TCPLossEvents, TCPZeroWindows, TCPZeroWindowACKs, TCPQueueDelay,
		TCPWindowBound, TCPLossBound, TCPWireRate, TCPACKRate, TCPACKsBySegments, TCPSequence, TCPOneWayDelay, TCPNetworkLost, UDPDatagrams, UDPLost, UDPGap}
}
