package testnet

import "time"

// Traffic is a TCP transfer from one namespace to another, with the habits of
// its two applications.
type Traffic struct {
	Bytes    int           // to move; 0 is until Duration
	Duration time.Duration // at most; 0 means 10 s

	// The sender writes Burst messages of Write bytes every Every. With Every
	// zero it writes as fast as the socket takes.
	Write int
	Burst int
	Every time.Duration

	// Reply is the length of the answer that the sender awaits after each
	// burst; 0 is none.
	Reply int

	NoDelay    bool
	Congestion string // congestion control of the sender, "" the namespace's
	SendBuffer int    // most bytes unacknowledged, at least Write; 0 automatic

	// The receiver reads Read bytes, then pauses.
	Read          int
	Pause         time.Duration
	ReceiveBuffer int // SO_RCVBUF, 0 automatic
}

// TCPInfo is what the sender's kernel says at the end of a Traffic (tcp(7)
// TCP_INFO).
type TCPInfo struct {
	Bytes                              int64
	Elapsed                            time.Duration
	Retransmits                        int
	RTT, MinRTT                        time.Duration
	Busy, RwndLimited, SndbufLimited   time.Duration
	MSS, Cwnd                          int
	DeliveryRate                       float64 // bit/s
	SegmentsOut, DataSegmentsOut, Lost int
}
