package data

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ReadTCPInfo asks the kernel about c; nil where it won't tell.
func ReadTCPInfo(c net.Conn) *TCPInfo {
	sc, ok := netConn(c).(syscall.Conn)
	if !ok {
		return nil
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	var info *TCPInfo
	err = rc.Control(func(fd uintptr) { info = readTCPInfo(int(fd)) })
	if err != nil {
		return nil
	}
	return info
}

func readTCPInfo(fd int) *TCPInfo {
	k, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return nil
	}
	// Options that can't be read stay zero.
	snd, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	rcv, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	cc, _ := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	us := func(n uint64) time.Duration { return time.Duration(n) * time.Microsecond }
	return &TCPInfo{
		RTT: us(uint64(k.Rtt)), MinRTT: us(uint64(k.Min_rtt)), Cwnd: int64(k.Snd_cwnd),
		SendMSS: int64(k.Snd_mss), ReceiveMSS: int64(k.Rcv_mss), SendBuffer: int64(snd), ReceiveBuffer: int64(rcv),
		Busy: us(k.Busy_time), RwndLimited: us(k.Rwnd_limited), SndbufLimited: us(k.Sndbuf_limited),
		Retransmits: int64(k.Total_retrans), PacingRate: int64(k.Pacing_rate), DeliveryRate: int64(k.Delivery_rate),
		SegmentsOut: int64(k.Segs_out), SegmentsIn: int64(k.Segs_in), Congestion: cc,
	}
}
