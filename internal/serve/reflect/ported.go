package reflect

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/wire/frame"
)

const (
	ethernet = 1  // link type
	udp      = 17 // IP protocol
	echoPort = 7
)

// Serve reflects what p receives until ctx ends, for interfaces without XDP.
// What is no test frame is left to the stack, which sees it as well.
func Serve(ctx context.Context, p port.Port, any bool) (Counts, error) {
	var c Counts
	var pk frame.Packet
	into := make([]port.Frame, p.Info().Batch)
	for ctx.Err() == nil {
		n, err := p.Recv(into)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err != nil {
			return c, fmt.Errorf("reflect: %w", err)
		}
		back := into[:0]
		for _, f := range into[:n] {
			pk = frame.Packet{}
			if !ours(&pk, f.Data, any) {
				c.Foreign++
				continue
			}
			turn(f.Data, &pk)
			back = append(back, f)
			c.Frames, c.Bytes = c.Frames+1, c.Bytes+uint64(len(f.Data))
		}
		for sent := 0; sent < len(back); {
			n, err := p.Send(back[sent:])
			if err != nil {
				return c, fmt.Errorf("reflect: %w", err)
			}
			sent += n
			if ctx.Err() != nil {
				break
			}
		}
	}
	return c, nil
}

// ours reports whether b is a test frame.
func ours(pk *frame.Packet, b []byte, any bool) bool {
	frame.Decode(ethernet, b, len(b), pk)
	if pk.Proto != udp || pk.Depth != 1 || b[6]&1 != 0 {
		return false
	}
	_, signed, _ := frame.ParseSignature(pk.Data)
	return signed || any && pk.DstPort == echoPort
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
