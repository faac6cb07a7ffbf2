package nic

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrFull is returned when no transmit descriptor is free.
var ErrFull = errors.New("no transmit descriptor is free")

// ring is the transmit descriptors: queued ones wait for the wire, completed
// ones for someone to reclaim them.
type ring struct {
	mu        sync.Mutex
	size      int
	queued    []Packet
	sending   int // taken from queued, not completed yet
	completed []Packet
	bell      chan struct{} // rung when the queue is no longer empty
}

func (r *ring) init(size int) {
	r.size, r.bell = size, make(chan struct{}, 1)
	r.queued = make([]Packet, 0, size)
}

func (r *ring) wake() {
	select {
	case r.bell <- struct{}{}:
	default:
	}
}

// Send queues packets and rings the bell. n of them were taken; the error is
// ErrFull if that is not all. Any goroutine may send.
func (n *NIC) Send(packets []Packet) (int, error) {
	r := &n.tx
	var freed []Packet
	r.mu.Lock()
	if n.cfg.ReclaimInSend {
		freed, r.completed = r.completed, nil
	}
	free := r.size - len(r.queued) - r.sending - len(r.completed)
	take := min(len(packets), free)
	ring := len(r.queued) == 0 && take > 0
	r.queued = append(r.queued, packets[:take]...)
	r.mu.Unlock()
	if ring {
		r.wake()
	}
	n.reclaim(freed)
	if take < len(packets) {
		n.count.full.Add(int64(len(packets) - take))
		return take, fmt.Errorf("nic: send: %w", ErrFull)
	}
	return take, nil
}

// transmit is the card's transmit side: it empties the queue onto the wire in
// as few calls as it can.
func (n *NIC) transmit(ctx context.Context) error {
	r := &n.tx
	var batch []Packet
	for ctx.Err() == nil {
		r.mu.Lock()
		batch, r.queued = r.queued, batch[:0]
		r.sending = len(batch)
		r.mu.Unlock()
		if len(batch) == 0 {
			select {
			case <-r.bell:
			case <-ctx.Done():
			}
			continue
		}
		if err := n.push(ctx, batch); err != nil {
			return err
		}
		n.complete(batch)
	}
	return nil
}

// push sends a batch to the end.
func (n *NIC) push(ctx context.Context, batch []Packet) error {
	first, entered := n.count.sent.Load(), n.timer.Now()
	for left := batch; len(left) > 0 && ctx.Err() == nil; {
		sent, err := n.wire.Send(left)
		if err != nil {
			return fmt.Errorf("nic: send: %w", err)
		}
		n.count.kicks.Add(1)
		left = left[sent:]
	}
	n.count.sent.Add(int64(len(batch)))
	if n.cfg.Trace > 0 {
		n.trace.note(Transmit, first, len(batch), entered, n.timer.Now())
	}
	return nil
}

// complete marks a batch as sent. The send path frees it later, or it is freed
// here, outside that path.
func (n *NIC) complete(batch []Packet) {
	if n.cfg.TransmitInterrupt > 0 {
		n.count.txEvents.Add(int64((len(batch) + n.cfg.TransmitInterrupt - 1) / n.cfg.TransmitInterrupt))
		if n.cfg.InterruptCost > 0 {
			n.timer.Spin(n.cfg.InterruptCost)
		}
	}
	r := &n.tx
	r.mu.Lock()
	r.sending = 0
	if n.cfg.ReclaimInSend {
		r.completed = append(r.completed, batch...)
	}
	r.mu.Unlock()
	if !n.cfg.ReclaimInSend {
		n.reclaim(batch)
	}
	clear(batch)
}

// reclaim gives descriptors back to the driver.
func (n *NIC) reclaim(packets []Packet) {
	for _, p := range packets {
		p.Release()
	}
	n.count.reclaimed.Add(int64(len(packets)))
}

// drop frees what was never sent.
func (r *ring) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range append(r.queued, r.completed...) {
		p.Release()
	}
	r.queued, r.completed = nil, nil
}
