package generator

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/linerate/linerate/internal/port"
)

// Tagged measures the latency of single frames amid a load: RFC 2544 section
// 26.2 wants the time between the stamps of one frame that can be told from the
// stream. The stamps are the NIC's where both Ports have them of one clock.
type Tagged struct {
	Out     port.Stamped
	In      port.Port
	Profile Profile
}

// tag is what a tagged frame has in the place of the signature's magic: the
// receiver of the stream lets it pass.
const tag = 0x4c54 // "LT"

// tagWait is how long a tagged frame may be under way.
const tagWait = 2 * time.Second

// Measure sends n frames, one after each pause, and returns the latencies of
// those that came.
func (t Tagged) Measure(ctx context.Context, n int, pause time.Duration) ([]time.Duration, error) {
	tmpl := t.Profile.template()
	f := tmpl.frame
	at := int(tmpl.payload)
	binary.BigEndian.PutUint16(f[at:], tag)
	var out []time.Duration
	for range n {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return out, context.Cause(ctx)
		}
		binary.BigEndian.PutUint64(f[at+2:], uint64(time.Now().UnixNano())) // no two are alike
		left, err := t.depart(f)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err != nil {
			return out, err
		}
		came, err := t.await(ctx, f[at:at+10])
		if err != nil {
			return out, err
		}
		if !came.IsZero() {
			out = append(out, came.Sub(left))
		}
	}
	return out, nil
}

func (t Tagged) depart(f []byte) (time.Time, error) {
	if n, err := t.Out.Send([]port.Frame{{Data: f}}); err != nil || n != 1 {
		return time.Time{}, errors.Join(err, fmt.Errorf("generator: tagged frame: %d taken", n))
	}
	return t.Out.Departure()
}

// await returns when the frame with this tag came, the zero time where it was
// lost.
func (t Tagged) await(ctx context.Context, mark []byte) (time.Time, error) {
	into := make([]port.Frame, t.In.Info().Batch)
	for deadline := time.Now().Add(tagWait); time.Now().Before(deadline) && ctx.Err() == nil; {
		n, err := t.In.Recv(into)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return time.Time{}, fmt.Errorf("generator: tagged frame: %w", err)
		}
		for _, f := range into[:n] {
			if bytes.Contains(f.Data[:min(len(f.Data), 128)], mark) {
				return f.At, nil
			}
		}
	}
	return time.Time{}, nil
}
