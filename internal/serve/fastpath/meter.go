package fastpath

import (
	"context"

	"github.com/linerate/linerate/result"
)

// Name implements run.Meter.
func (*Path) Name() string { return "fastpath" }

// Read returns the packets by what became of them, and the connections held.
func (p *Path) Read(context.Context) ([]result.Value, error) {
	s, err := p.State()
	values := []result.Value{result.FastPathFlows.Of(float64(s.Flows))}
	for _, r := range s.Reasons {
		values = append(values, result.FastPathPackets.Of(float64(r.Packets), "reason", r.Name))
	}
	return values, err
}
