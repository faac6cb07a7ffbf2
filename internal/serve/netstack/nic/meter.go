package nic

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/linerate/linerate/result"
)

// Name implements run.Meter.
func (*NIC) Name() string { return "softnic" }

// Read returns what the card did since it was made.
func (n *NIC) Read(context.Context) ([]result.Value, error) {
	c := &n.count
	var values []result.Value
	add := func(m result.Metric, v float64) { values = append(values, m.Of(v)) }
	count := func(m result.Metric, v *atomic.Int64) { add(m, float64(v.Load())) }
	count(result.CardInterrupts, &c.interrupts)
	count(result.CardPolls, &c.polls)
	count(result.CardReceived, &c.frames)
	count(result.CardReceivedBytes, &c.received)
	count(result.CardBatch, &c.longest)
	count(result.CardRestarts, &c.restarts)
	add(result.CardHeld, float64(c.held.Load())/1e9)
	add(result.CardHeldWorst, float64(c.worst.Load())/1e9)
	count(result.CardKicks, &c.kicks)
	count(result.CardSent, &c.sent)
	count(result.CardFull, &c.full)
	count(result.CardDropped, &c.dropped)
	count(result.CardReclaimed, &c.reclaimed)
	count(result.CardTransmitInterrupts, &c.txEvents)
	if l := n.timer.Lateness(); l.Waits > 0 {
		values = append(values, result.CardTimerLate.Of(l.Mean, "statistic", "mean"), result.CardTimerLate.Of(l.P99, "statistic", "p99"))
	}
	if n.place != nil {
		values = append(values, result.CardFIFO.Of(float64(c.fifo[0].Load()), "fifo", "0"), result.CardFIFO.Of(float64(c.fifo[1].Load()), "fifo", "1"))
	}
	lost, err := n.wire.Lost()
	switch {
	case errors.Is(err, errors.ErrUnsupported): // a TAP device: its interface counts them
		return values, nil
	case err != nil:
		return values, err
	}
	add(result.CardLost, float64(lost))
	return values, nil
}
