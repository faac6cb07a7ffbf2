// Package tcpinfo reads what the kernel knows of TCP connections: of sockets
// this process owns (Sockets) and of any other's on the host (Meter), such as
// those of another FTP server.
package tcpinfo

import (
	"encoding/binary"
	"math"

	"github.com/linerate/linerate/result"
)

// field is a number in struct tcp_info (linux/tcp.h). The structure only ever
// grows, so a kernel that is too old for a field shows by the length.
type field struct {
	metric result.Metric
	offset int
	size   int
	scale  float64  // to the metric's unit
	labels []string // beside the caller's
}

const micro = 1e-6

func fields() []field {
	return []field{
		{result.TCPRTT, 68, 4, micro, nil},
		{result.TCPRTTVar, 72, 4, micro, nil},
		{result.TCPMinRTT, 148, 4, micro, nil},
		{result.TCPSsthresh, 76, 4, 1, nil},
		{result.TCPMSS, 16, 4, 1, nil},
		{result.TCPReceiveSpace, 96, 4, 1, nil},
		{result.TCPPacingRate, 104, 8, 8, nil},
		{result.TCPDeliveryRate, 160, 8, 8, nil},
		{result.TCPNotSent, 144, 4, 1, nil},
		{result.TCPWindow, 228, 4, 1, []string{"window", "send"}},    // what the peer lets us send
		{result.TCPWindow, 232, 4, 1, []string{"window", "receive"}}, // what we let the peer send
		{result.TCPRetransmits, 100, 4, 1, nil},
		{result.TCPBusy, 168, 8, micro, nil},
		{result.TCPRwndLimited, 176, 8, micro, nil},
		{result.TCPSndbufLimited, 184, 8, micro, nil},
		{result.TCPBytesAcked, 120, 8, 1, nil},
		{result.TCPBytesReceived, 128, 8, 1, nil},
		{result.TCPBytesResent, 208, 8, 1, nil},
		{result.SegmentsOut, 136, 4, 1, nil},
		{result.SegmentsIn, 140, 4, 1, nil},
		{result.DataSegmentsIn, 152, 4, 1, nil},
		{result.DataSegmentsOut, 156, 4, 1, nil},
	}
}

// none are readings that mean "not known": no RTT sample yet, no pacing, no
// loss so far.
func none(m result.Metric, n uint64) bool {
	switch m {
	case result.TCPMinRTT:
		return n == math.MaxUint32
	case result.TCPPacingRate:
		return n == math.MaxUint64
	case result.TCPSsthresh:
		return n >= math.MaxInt32
	}
	return false
}

// decode returns the values in b, a struct tcp_info in the byte order given,
// each with the labels kv. What the kernel did not know is left out.
func decode(b []byte, order binary.ByteOrder, kv ...string) []result.Value {
	var vs []result.Value
	of := func(m result.Metric, v float64, more ...string) {
		vs = append(vs, m.Of(v, append(kv[:len(kv):len(kv)], more...)...))
	}
	number := func(offset, size int) (uint64, bool) {
		switch {
		case len(b) < offset+size:
			return 0, false
		case size == 8:
			return order.Uint64(b[offset:]), true
		default:
			return uint64(order.Uint32(b[offset:])), true
		}
	}
	for _, f := range fields() {
		if n, ok := number(f.offset, f.size); ok && !none(f.metric, n) {
			of(f.metric, float64(n)*f.scale, f.labels...)
		}
	}
	if len(b) < 8 {
		return vs
	}
	const windowScaling = 4 // TCPI_OPT_WSCALE
	send, receive := -1.0, -1.0
	if b[5]&windowScaling != 0 {
		// Two bit fields of four: the first declared is the low half on
		// little-endian machines and the high half on others.
		low, high := float64(b[6]&0xf), float64(b[6]>>4)
		if send, receive = low, high; order.String() == binary.BigEndian.String() {
			send, receive = high, low
		}
	}
	of(result.TCPWindowScale, send, "window", "send")
	of(result.TCPWindowScale, receive, "window", "receive")
	firstBit := byte(1)
	if order.String() == binary.BigEndian.String() {
		firstBit = 0x80
	}
	limited := 0.0
	if b[7]&firstBit != 0 {
		limited = 1
	}
	of(result.TCPAppLimited, limited)
	unacked, _ := number(24, 4)
	if mss, ok := number(16, 4); ok {
		of(result.TCPInFlight, float64(unacked)*float64(mss))
	}
	return vs
}

// decodeCwnd returns the congestion window, labelled with the algorithm that
// rules it.
func decodeCwnd(b []byte, order binary.ByteOrder, algorithm string, kv ...string) []result.Value {
	if len(b) < 84 {
		return nil
	}
	return []result.Value{result.TCPCwnd.Of(float64(order.Uint32(b[80:])), append(kv[:len(kv):len(kv)], "algorithm", algorithm)...)}
}
