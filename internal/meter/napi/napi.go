// Package napi measures how the kernel polls its interfaces: packets per poll,
// time in each poll and in the receive softirq, from tracepoints. It is the
// cycle profile of a driver's receive routine for any driver, and needs no
// change to it. Frames of an interface without a poll routine of its own
// (loopback, most of veth) are polled from their core's backlog, and count under
// the interface "backlog".
package napi

import "time"

// Call is one call of a poll routine out of the circular buffer.
type Call struct {
	CPU       int
	Interface string
	Packet    uint64        // packets polled on this core before it
	Packets   int           // polled by it
	Since     time.Duration // since the call before it returned
	Inside    time.Duration // 0 where unknown (threaded NAPI)
}

func nanoseconds(n uint64) time.Duration { return time.Duration(n) * time.Nanosecond }
