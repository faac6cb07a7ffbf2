//go:build !386 && !arm && !mips && !mipsle

package netstack

import (
	"context"

	"github.com/linerate/linerate/result"
)

// Name implements run.Meter.
func (*Stack) Name() string { return "netstack" }

// Read returns what the stack and its card did so far.
func (s *Stack) Read(ctx context.Context) ([]result.Value, error) {
	values, err := s.link.card.Read(ctx)
	used, refused := s.memory.read()
	t := s.net.Stats().TCP
	return append(values,
		result.StackMemory.Of(float64(used)), result.StackRefused.Of(float64(refused)),
		result.StackRetransmits.Of(float64(t.Retransmits.Value())),
		result.StackSegmentsIn.Of(float64(t.ValidSegmentsReceived.Value())), result.StackSegmentsOut.Of(float64(t.SegmentsSent.Value())),
	), err
}
