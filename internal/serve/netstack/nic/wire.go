// Package nic is a network card made of software: descriptor rings of a set
// size, receive interrupts held back in the modes of a board's firmware,
// transmit descriptors reclaimed where the driver says, checksum and
// segmentation engines. Its wire is real. Every transition is counted and the
// last calls are kept in a trace.
package nic

import "time"

// Received is a frame in the receive ring, without FCS. Data is the wire's and
// valid until the frame is released.
type Received struct {
	Data    []byte
	Checked bool // the wire vouches for the transport checksum
}

// Offload is work that a frame on its way out leaves to the card (the fields
// of a virtio-net header, Virtio 1.3, 5.1.6).
type Offload struct {
	Sum     bool   // sum the bytes from Start on and store it at Start+Field
	Start   uint16 // bytes
	Field   uint16 // bytes from Start
	Segment uint16 // most bytes of TCP payload per frame; 0: it is one frame
	Headers uint16 // bytes before the payload, where Segment is set
	IPv6    bool
}

// Packet is a frame on its way out. The driver that hands it over keeps its
// bytes until Release, which comes once the frame has left.
type Packet interface {
	Parts() [][]byte
	Offload() Offload
	Release()
}

// Info says what a wire is.
type Info struct {
	Name     string
	Ring     int  // receive descriptors
	Checksum bool // it sums transport checksums and vouches for received ones
	Segment  bool // it cuts segments, and joins those received
}

// Wire moves frames between the receive ring and a link. Filled, Frame and
// Release belong to one goroutine, Send to another.
type Wire interface {
	Info() Info

	// Filled returns how many descriptors hold frames.
	Filled() (int, error)

	// Frame returns the i-th oldest of them.
	Frame(i int) Received

	// Release gives the n oldest descriptors back.
	Release(n int)

	// Wait returns when a frame has come, or after d.
	Wait(d time.Duration) error

	// Send sends packets in order; n of them were taken.
	Send(packets []Packet) (n int, err error)

	// Lost returns the frames that found no descriptor.
	Lost() (uint64, error)

	Close() error
}
