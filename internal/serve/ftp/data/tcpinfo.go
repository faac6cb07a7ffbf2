package data

import "time"

// TCPInfo is what the kernel knows of a connection (linux struct tcp_info).
type TCPInfo struct {
	RTT           time.Duration `json:"rtt"`
	MinRTT        time.Duration `json:"min_rtt"`
	Cwnd          int64         `json:"cwnd_segments"`
	SendMSS       int64         `json:"send_mss"`
	ReceiveMSS    int64         `json:"receive_mss"`
	SendBuffer    int64         `json:"send_buffer"`    // bytes, SO_SNDBUF as in force
	ReceiveBuffer int64         `json:"receive_buffer"` // bytes, SO_RCVBUF as in force
	Busy          time.Duration `json:"busy"`           // data was outstanding
	RwndLimited   time.Duration `json:"rwnd_limited"`   // held back by the peer's window
	SndbufLimited time.Duration `json:"sndbuf_limited"` // held back by the own send buffer
	Retransmits   int64         `json:"retransmits"`    // segments
	PacingRate    int64         `json:"pacing_rate"`    // bytes per second
	DeliveryRate  int64         `json:"delivery_rate"`  // bytes per second
	SegmentsOut   int64         `json:"segments_out"`
	SegmentsIn    int64         `json:"segments_in"`
	Congestion    string        `json:"congestion"` // name of the algorithm
}
