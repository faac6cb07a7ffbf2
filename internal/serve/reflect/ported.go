package reflect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/wire/frame"
)

const (
	ethernet = 1  // link type
	udp      = 17 // IP protocol
	echoPort = 7
)

// Arms are where a reflector without XDP receives and sends.
type Arms struct {
	In, Out       port.Port // the same for one arm
	InMAC, OutMAC net.HardwareAddr
}

// Serve reflects what comes in until ctx ends, for interfaces without XDP, and
// answers for the addresses of o. What is neither is left to the stack, which
// sees it as well.
func Serve(ctx context.Context, a Arms, o Options) (Counts, error) {
	var c Counts
	into := make([]port.Frame, a.In.Info().Batch)
	for ctx.Err() == nil {
		n, err := a.In.Recv(into)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err == nil {
			err = a.batch(ctx, into[:n], o, &c)
		}
		if err != nil {
			return c, fmt.Errorf("reflect: %w", err)
		}
	}
	return c, nil
}

// batch turns round what is ours of a batch, in place.
func (a Arms) batch(ctx context.Context, in []port.Frame, o Options, c *Counts) error {
	var pk frame.Packet
	back := in[:0]
	for _, f := range in {
		pk = frame.Packet{}
		sig, ok := ours(&pk, f.Data, o.Any)
		if !ok {
			c.Foreign++
			if q, ok := frame.ParseNeighbour(f.Data); ok && !q.Reply && o.Has(q.Target) {
				if _, err := a.In.Send([]port.Frame{{Data: q.Answer(a.InMAC)}}); err != nil {
					return err
				}
			}
			continue
		}
		if o.Latency && sig.Stamp > 0 {
			c.took(int64(monotonic()) - int64(max(0, time.Since(f.At))) - int64(sig.Stamp))
		}
		turn(f.Data, &pk)
		if o.Out != "" {
			copy(f.Data, o.NextHop)
			copy(f.Data[6:], a.OutMAC)
		}
		back = append(back, f)
		c.Frames, c.Bytes = c.Frames+1, c.Bytes+uint64(len(f.Data))
	}
	for sent := 0; sent < len(back) && ctx.Err() == nil; {
		n, err := a.Out.Send(back[sent:])
		if err != nil {
			return err
		}
		sent += n
	}
	return nil
}

// took is the twin of took in reflect.bpf.c.
func (c *Counts) took(ns int64) {
	if ns < 0 || ns > clockApart {
		c.OtherClock++
		return
	}
	c.Latency.Add(uint64(ns))
}

// ours reports whether b is a test frame, and its signature if it has one.
func ours(pk *frame.Packet, b []byte, any bool) (frame.Signature, bool) {
	frame.Decode(ethernet, b, len(b), pk)
	if pk.Proto != udp || pk.Depth != 1 || b[6]&1 != 0 {
		return frame.Signature{}, false
	}
	sig, signed, _ := frame.ParseSignature(pk.Data)
	return sig, signed || any && pk.DstPort == echoPort
}

// turn swaps the addresses and ports of a decoded frame.
func turn(b []byte, pk *frame.Packet) {
	at := pk.Headers - 8
	ip := at - 20
	if pk.IPVersion == 6 {
		ip = at - 40
	}
	swap(b, ip, at)
}
