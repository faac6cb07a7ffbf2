package netstack

import (
	"errors"
	"fmt"
)

// Knobs are the settings that the K2H report turns in its stack.
type Knobs struct {
	TransmitBuffer int   // bytes of a connection's send buffer; 0: tuned, up to 4 MiB
	ReceiveBuffer  int   // bytes of a connection's receive buffer, and so of its window; 0: tuned, up to 4 MiB
	Memory         int64 // bytes for the buffers of all connections; 0: no limit
	AckEvery       int   // segments per acknowledgement (RFC 1122 4.2.3.2 allows 2); 0 or 1: each batch received
	NoDelay        bool  // send small segments at once (RFC 896 off)
	NoSACK         bool  // RFC 2018 off; with it on gVisor keeps 36 bytes of each segment free for it
	MTU            int   // bytes; 0: 1500
	Checksum       bool  // leave transport checksums to the card
	Segment        bool  // leave cutting and joining segments to the card; needs Checksum
}

// most is what tuning takes a buffer to.
const most = 4 << 20

func (k Knobs) check() (Knobs, error) {
	if k.MTU == 0 {
		k.MTU = 1500
	}
	switch {
	case k.MTU < 576 || k.MTU > 65535:
		return k, fmt.Errorf("MTU %d: want 576 to 65535", k.MTU)
	case k.TransmitBuffer < 0 || k.ReceiveBuffer < 0 || k.Memory < 0 || k.AckEvery < 0:
		return k, errors.New("a negative buffer, memory or acknowledgement count")
	case k.TransmitBuffer > 1<<30 || k.ReceiveBuffer > 1<<29:
		return k, errors.New("a buffer of more than 512 MiB")
	case k.Segment && !k.Checksum:
		return k, errors.New("a card that cuts segments sums them, too: checksum offload must be on")
	}
	return k, nil
}

// perConnection is what one connection takes of the memory budget, in bytes.
func (k Knobs) perConnection() int64 {
	size := func(n int) int64 {
		if n == 0 {
			return most
		}
		return int64(n)
	}
	return size(k.TransmitBuffer) + size(k.ReceiveBuffer)
}
