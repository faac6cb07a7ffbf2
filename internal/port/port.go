// Package port moves frames between this process and a link: a packet socket,
// a NIC queue, a TUN device, a capture file or another process's memory.
package port

import "time"

// Frame is one frame without FCS. Data belongs to the Port that lent it and is
// valid until the next Recv on that Port.
type Frame struct {
	Data []byte
	At   time.Time // hardware time if Info.HWTime, else the kernel's or that of Recv
	Len  int       // bytes on the wire, more than len(Data) where a header was kept only
}

// Info is what a user needs to know of a Port.
type Info struct {
	Name   string
	Link   uint16 // what a frame starts with, as numbered for captures: 1 is Ethernet, 101 bare IP
	MTU    int    // bytes of payload, as ethtool and ip link show it
	Batch  int    // most frames moved by one call
	HWTime bool   // At is stamped by the NIC
}

// Port is one queue of a link. Recv and Send may run concurrently with each
// other, not with themselves.
type Port interface {
	Info() Info

	// Recv waits for frames and lends up to len(into) of them. It returns
	// os.ErrDeadlineExceeded when there was none for a while, so that callers
	// can look around.
	Recv(into []Frame) (n int, err error)

	// Send sends frames in order; n of them were taken.
	Send(frames []Frame) (n int, err error)

	Close() error
}

// Tap is a Port that only listens, as a capture does. Its Send wraps
// errors.ErrUnsupported.
type Tap interface {
	Port

	// Dropped returns the frames lost so far because the ring was full.
	Dropped() (uint64, error)
}
