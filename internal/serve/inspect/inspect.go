// Package inspect looks at the frames of an interface and lets them go on: the
// headers of each (split, as the Zynq packet processor's "bifurcation"), the
// whole frame (full), or counters kept in the kernel (count). A filter
// expression, sampling and a rate limit choose which. It runs as eBPF in the
// driver (XDP), or in the stack (tcx), the only place that sees what is sent.
//
// Programs hang on links of the process that attached them: when it ends,
// however that comes about, the interface is as before.
package inspect

import (
	"fmt"
	"time"

	"github.com/linerate/linerate/internal/wire/filter"
	"github.com/linerate/linerate/internal/wire/frame"
)

// Mode says what is taken of a frame.
type Mode string

// The modes.
const (
	Count Mode = "count"
	Split Mode = "split"
	Full  Mode = "full"
)

// Place says where frames are looked at.
type Place string

// The places. Auto is the driver where it has frames that no stack has made
// yet, and the stack elsewhere: on veth and its like XDP must copy each frame.
const (
	Auto   Place = "auto"
	Driver Place = "driver"
	Stack  Place = "stack"
)

// Direction says which frames are looked at; what is sent is seen in the stack.
type Direction string

// The directions.
const (
	In   Direction = "in"
	Out  Direction = "out"
	Both Direction = "both"
)

// Limits of the options.
const (
	MaxHeaders = 512
	MaxFrame   = 16384 // bytes of a record in full mode
	maxSample  = 1 << 24
)

// Options of an Inspector. The zero value of a field takes the default.
type Options struct {
	Mode      Mode
	Filter    string // pcap-filter(7); empty: all frames
	Place     Place
	Direction Direction
	Headers   int     // split: bytes of each frame, default 64
	Protocol  bool    // split: end where the payload starts, up to Headers or 128
	Snap      int     // full: most bytes of a frame
	Sample    int     // one of so many matching frames (RFC 5475 5.1)
	Limit     float64 // most frames per second
	Ring      int     // bytes between kernel and reader, a power of two
	Flows     int     // most flows that count keeps apart
}

// defaulted fills in the defaults.
func (o Options) defaulted() Options {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	if o.Mode == "" {
		o.Mode = Split
	}
	if o.Place == "" {
		o.Place = Auto
	}
	if o.Direction == "" {
		o.Direction = In
	}
	if o.Protocol {
		set(&o.Headers, 128) // two tags, IPv6 and all TCP options are 122
	}
	set(&o.Headers, 64)
	set(&o.Snap, MaxFrame)
	set(&o.Sample, 1)
	set(&o.Ring, 8<<20)
	set(&o.Flows, 65536)
	return o
}

// Check reports what is wrong with the options before anything is attached.
func (o Options) Check() error {
	o = o.defaulted()
	switch {
	case o.Mode != Count && o.Mode != Split && o.Mode != Full:
		return fmt.Errorf("inspect: mode %q: want split, full or count", o.Mode)
	case o.Place != Auto && o.Place != Driver && o.Place != Stack:
		return fmt.Errorf("inspect: place %q: want auto, driver or stack", o.Place)
	case o.Direction != In && o.Direction != Out && o.Direction != Both:
		return fmt.Errorf("inspect: direction %q: want in, out or both", o.Direction)
	case o.Place == Driver && o.Direction != In:
		return fmt.Errorf("inspect: the driver sees only what comes in: leave the place to us or ask for in")
	case o.Headers < 14 || o.Headers > MaxHeaders:
		return fmt.Errorf("inspect: %d bytes of headers: want 14 to %d", o.Headers, MaxHeaders)
	case o.Snap < 14 || o.Snap > MaxFrame:
		return fmt.Errorf("inspect: %d bytes of a frame: want 14 to %d", o.Snap, MaxFrame)
	case o.Sample < 1 || o.Sample > maxSample:
		return fmt.Errorf("inspect: one frame of %d: want 1 to %d", o.Sample, maxSample)
	case o.Limit < 0 || o.Limit > 1e9:
		return fmt.Errorf("inspect: limit of %g frame/s: want up to 1e9", o.Limit)
	case o.Ring < 1<<16 || o.Ring > 1<<30 || o.Ring&(o.Ring-1) != 0:
		return fmt.Errorf("inspect: ring of %d bytes: want a power of two from 64 KiB to 1 GiB", o.Ring)
	case o.Flows < 1 || o.Flows > 1<<22:
		return fmt.Errorf("inspect: %d flows: want 1 to %d", o.Flows, 1<<22)
	}
	_, err := filter.Compile(o.Filter, frame.LinkEthernet)
	return err
}

// MostBytes is how much a record holds at most.
func (o Options) MostBytes() int {
	o = o.defaulted()
	if o.Mode == Full {
		return o.Snap
	}
	return o.Headers
}

// Record is what was taken of a frame. Data is lent until the function that it
// was given to returns.
type Record struct {
	At       time.Time
	Data     []byte
	Length   int // of the frame, without FCS
	Outgoing bool
	Segments int // frames that this one is in the stack for
}

// Counts are what became of the frames: Matched is always the sum of Skipped,
// Limited, Lost and Taken, once no frame is under way.
type Counts struct {
	Seen, SeenBytes       uint64
	Matched, MatchedBytes uint64
	Skipped               uint64 // by sampling
	Limited               uint64 // by the rate limit
	Lost                  uint64 // for want of room in the ring or the flow table
	Taken                 uint64
	Sizes                 [7]uint64 // count: frames with FCS up to 64, 127, 255, 511, 1023, 1518 bytes and above
}

// Volume is traffic of one kind.
type Volume struct{ Frames, Bytes uint64 }

// SizeNames are the ranges of Counts.Sizes (RFC 2819 etherStatsPkts).
func SizeNames() [7]string {
	return [7]string{"64", "65-127", "128-255", "256-511", "512-1023", "1024-1518", "1519-"}
}
