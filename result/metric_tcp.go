package result

// What a TCP connection says of itself (TCP_INFO) or shows in a capture.
// Labels: flow, direction.
var (
	TCPRTT           = Metric{"tcp_round_trip_seconds", Gauge, "s", "RTT", "Smoothed round-trip time.", "RFC 6298 2"}
	TCPMinRTT        = Metric{"tcp_round_trip_min_seconds", Gauge, "s", "min RTT", "Smallest round-trip time seen.", "RFC 6298"}
	TCPWindow        = Metric{"tcp_receive_window_bytes", Gauge, "B", "window", "Receive window after scaling.", "RFC 7323 2"}
	TCPWindowScale   = Metric{"tcp_window_scale", Gauge, "1", "wscale", "Shift count of the receive window; -1 where it is unknown.", "RFC 7323 2"}
	TCPCwnd          = Metric{"tcp_congestion_window_segments", Gauge, "segment", "cwnd", "Congestion window.", "RFC 5681 2"}
	TCPMSS           = Metric{"tcp_segment_bytes", Gauge, "B", "MSS", "Payload of a full segment.", "RFC 9293 3.7.1"}
	TCPSendBuffer    = Metric{"tcp_send_buffer_bytes", Gauge, "B", "send buffer", "Send buffer of the socket.", "tcp(7)"}
	TCPReceiveBuffer = Metric{"tcp_receive_buffer_bytes", Gauge, "B", "receive buffer", "Receive buffer of the socket.", "tcp(7)"}
	TCPInFlight      = Metric{"tcp_in_flight_bytes", Gauge, "B", "in flight", "Bytes sent and not acknowledged.", "RFC 5681 2"}
	TCPBusy          = Metric{"tcp_busy_seconds_total", Counter, "s", "busy", "Time with data outstanding.", "linux tcp_info tcpi_busy_time"}
	TCPRwndLimited   = Metric{"tcp_rwnd_limited_seconds_total", Counter, "s", "rwnd limited", "Time held back by the peer's receive window.", "linux tcp_info tcpi_rwnd_limited"}
	TCPSndbufLimited = Metric{"tcp_sndbuf_limited_seconds_total", Counter, "s", "sndbuf limited", "Time held back by the own send buffer.", "linux tcp_info tcpi_sndbuf_limited"}
	TCPRetransmits   = Metric{"tcp_retransmits_total", Counter, "segment", "retransmits", "Segments sent again.", "RFC 9293"}
	TCPPacingRate    = Metric{"tcp_pacing_bits_per_second", Gauge, "bit/s", "pacing", "Pacing rate of the sender.", "linux tcp_info tcpi_pacing_rate"}
	TCPDeliveryRate  = Metric{"tcp_delivery_bits_per_second", Gauge, "bit/s", "delivery", "Latest delivery rate the sender measured.", "draft-cheng-iccrg-delivery-rate-estimation"}
	SegmentsOut      = Metric{"tcp_segments_out_total", Counter, "segment", "segments out", "Segments sent, also pure ACKs.", "RFC 4898"}
	SegmentsIn       = Metric{"tcp_segments_in_total", Counter, "segment", "segments in", "Segments received, also pure ACKs.", "RFC 4898"}
	DataSegmentsOut  = Metric{"tcp_data_segments_out_total", Counter, "segment", "data out", "Segments with payload sent.", "RFC 4898"}
	DataSegmentsIn   = Metric{"tcp_data_segments_in_total", Counter, "segment", "data in", "Segments with payload received.", "RFC 4898"}
	TCPRTTVar        = Metric{"tcp_round_trip_variation_seconds", Gauge, "s", "RTT variation", "Round-trip time variation.", "RFC 6298 2"}
	TCPSsthresh      = Metric{"tcp_slow_start_threshold_segments", Gauge, "segment", "ssthresh", "Slow start threshold; absent before the first loss.", "RFC 5681 3.1"}
	TCPNotSent       = Metric{"tcp_not_sent_bytes", Gauge, "B", "not sent", "Bytes in the send buffer not sent yet.", "linux tcp_info tcpi_notsent_bytes"}
	TCPReceiveSpace  = Metric{"tcp_receive_space_bytes", Gauge, "B", "rcv_space", "What receive autotuning aims the window at.", "linux tcp_info tcpi_rcv_space"}
	TCPAppLimited    = Metric{"tcp_application_limited", Gauge, "1", "app limited", "1 where the latest delivery rate was bound by the application.", "linux tcp_info tcpi_delivery_rate_app_limited"}
	TCPBytesAcked    = Metric{"tcp_acknowledged_bytes_total", Counter, "B", "acknowledged", "Payload that the peer has acknowledged.", "RFC 4898 tcpEStatsAppHCThruOctetsAcked"}
	TCPBytesReceived = Metric{"tcp_received_bytes_total", Counter, "B", "received", "Payload received in order.", "RFC 4898 tcpEStatsAppHCThruOctetsReceived"}
	TCPBytesResent   = Metric{"tcp_retransmitted_bytes_total", Counter, "B", "resent", "Payload sent again.", "RFC 4898 tcpEStatsPerfOctetsRetrans"}
	TCPSocketDrops   = Metric{"tcp_socket_drops_total", Counter, "segment", "socket drops", "Segments the socket dropped.", "linux SK_MEMINFO_DROPS"}
	SegmentsPerACK   = Metric{"tcp_segments_per_ack", Gauge, "1", "segments/ACK", "Data segments covered by one pure ACK.", "RFC 5681 4.2"}
	BytesPerACK      = Metric{"tcp_bytes_per_ack", Gauge, "B", "bytes/ACK", "Payload covered by one pure ACK.", "RFC 5681 4.2"}
)

func tcpMetrics() []Metric {
	return []Metric{TCPRTT, TCPMinRTT, TCPWindow, TCPWindowScale, TCPCwnd, TCPMSS, TCPSendBuffer, TCPReceiveBuffer, TCPInFlight,
		TCPBusy, TCPRwndLimited, TCPSndbufLimited, TCPRetransmits, TCPPacingRate, TCPDeliveryRate,
		TCPRTTVar, TCPSsthresh, TCPNotSent, TCPReceiveSpace, TCPAppLimited, TCPBytesAcked, TCPBytesReceived, TCPBytesResent, TCPSocketDrops,
		SegmentsOut, SegmentsIn, DataSegmentsOut, DataSegmentsIn, SegmentsPerACK, BytesPerACK}
}
