package generator

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Sender offers loads.
type Sender interface {
	Name() string
	Send(ctx context.Context, l Load) (Sent, error)
	Close() error
}

// Receiver counts.
type Receiver interface {
	Name() string
	Reset() error
	Watch(from uint64) error // notes arrival times until Reset, and counts apart from a sequence number of each flow on
	Counts() (Received, error)
	Close() error
}

// ErrNothingArrived is wrapped by Prove's error.
var ErrNothingArrived = errors.New("nothing arrived")

// Prove sends a few frames end to end, again where none came: a router may drop
// the first while it looks for its neighbour. Several ways of sending lose
// everything in silence: an output without ndo_xdp_xmit, a veth peer without
// XDP and GRO, a device that does not know where the receiver is.
func Prove(ctx context.Context, s Sender, r Receiver) error {
	if err := r.Reset(); err != nil {
		return err
	}
	const frames, rounds = 64, 4
	var got Received
	for range rounds {
		if _, err := s.Send(ctx, Load{Frames: frames, Rate: 10000}); err != nil {
			return err
		}
		for deadline := time.Now().Add(300 * time.Millisecond); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			var err error
			if got, err = r.Counts(); err != nil {
				return err
			}
			if got.Unique > 0 {
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
	}
	return fmt.Errorf("%d frames sent by %s, none seen by %s (%d foreign frames): %w: check cable and addresses, that the device forwards, and that the driver can send XDP frames, or choose another --port",
		rounds*frames, s.Name(), r.Name(), got.Foreign, ErrNothingArrived)
}
