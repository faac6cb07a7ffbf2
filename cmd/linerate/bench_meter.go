package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/linerate/linerate/internal/meter/napi"
	measure "github.com/linerate/linerate/internal/run"
	"github.com/linerate/linerate/internal/serve/fastpath"
	"github.com/linerate/linerate/result"
)

// callsKept is how many poll calls of each core the NAPI meter remembers.
const callsKept = 64

// openMeters opens the meters that --meter names; done detaches them.
func (s *streamFlags) openMeters() (meters []measure.Meter, done func(), err error) {
	var closers []io.Closer
	done = func() {
		for _, c := range closers {
			c.Close() // detaching cannot be helped by the user
		}
	}
	for _, name := range s.meters {
		var m interface {
			measure.Meter
			io.Closer
		}
		switch name {
		case "napi":
			m, err = napi.Open(callsKept)
		case "fastpath":
			m, err = fastpath.Open("")
		default:
			err = usagef("--meter %q: want napi or fastpath", name)
		}
		if err != nil {
			return nil, done, err
		}
		meters, closers = append(meters, m), append(closers, m)
	}
	return meters, done, nil
}

// napiText says what polls gathered and cost, and what the meter itself did, in
// a line; nothing where it did not run.
func napiText(w io.Writer, vs []result.Value, over time.Duration) {
	polls, ok := result.Sum(vs, result.NAPIPolls)
	packets, _ := result.Sum(vs, result.NAPIPackets)
	spent, _ := result.Sum(vs, result.SoftirqSeconds)
	if !ok || polls == 0 || packets == 0 || over <= 0 {
		return
	}
	fmt.Fprintf(w, "napi: %.0f polls/s, %.1f packets a poll, %.2f us of receive softirq a packet", polls/over.Seconds(), packets/polls, spent/packets*1e6)
	if own, ok := result.Sum(vs, result.NAPIOverhead); ok {
		// The meter runs inside the softirq: its time is part of what it counts.
		fmt.Fprintf(w, "; the meter's own time is %.2f us of it, %.1f %%", own/packets*1e6, 100*own/max(spent, own))
	}
	fmt.Fprintln(w)
}

// callsText lists poll calls as the report's cycle profile does: how many
// packets came before, the time since the call before, and the time inside.
func callsText(w io.Writer, calls []napi.Call) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "core\tinterface\tpacket\tpackets\tsince us\tinside us\t")
	for _, c := range calls {
		fmt.Fprintf(t, "%d\t%s\t%d\t%d\t%.1f\t%.2f\t\n", c.CPU, c.Interface, c.Packet, c.Packets, float64(c.Since)/1e3, float64(c.Inside)/1e3)
	}
	return t.Flush()
}
