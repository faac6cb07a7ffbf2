package nic

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrFull is returned when neither a transmit descriptor nor a place in the
// driver's queue is free.
var ErrFull = errors.New("no transmit descriptor is free")

// ring is the transmit descriptors and the driver's queue before them. Packets
// wait for the wire in queued, the first of them in descriptors, and completed
// ones wait for someone to reclaim their descriptors.
type ring struct {
	mu        sync.Mutex
	size      int
	queue     int
	queued    []Packet
	sending   int // taken from queued, not completed yet
	completed []Packet
	bell      chan struct{} // rung when the queue is no longer empty
}

func (r *ring) init(size, queue int) {
	r.size, r.queue, r.bell = size, queue, make(chan struct{}, 1)
	r.queued = make([]Packet, 0, size)
}

// free returns the descriptors that hold nothing.
func (r *ring) free() int { return r.size - r.sending - len(r.completed) }

func (r *ring) wake() {
	select {
	case r.bell <- struct{}{}:
	default:
	}
}

// Send queues packets and rings the bell. n of them were taken; the error
// wraps ErrFull if that is not all. Any goroutine may send.
func (n *NIC) Send(packets []Packet) (int, error) {
	r := &n.tx
	var freed []Packet
	r.mu.Lock()
	if n.cfg.ReclaimInSend {
		freed, r.completed = r.completed, nil
	}
	room := r.free() - len(r.queued) // less than 0: some wait in the queue already
	if wait := len(packets) - max(room, 0); wait > 0 {
		n.count.full.Add(int64(wait))
	}
	take := min(len(packets), max(room+r.queue, 0))
	ring := len(r.queued) == 0 && take > 0
	r.queued = append(r.queued, packets[:take]...)
	r.mu.Unlock()
	if ring {
		r.wake()
	}
	n.reclaim(freed)
	if take < len(packets) {
		n.count.dropped.Add(int64(len(packets) - take))
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
		batch = r.take(batch[:0])
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

// take moves as many queued packets into descriptors as are free. Completed
// ones that nobody reclaimed yet are in the way only of more than there are.
func (r *ring) take(batch []Packet) []Packet {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.queued), max(r.free(), 1))
	batch = append(batch, r.queued[:n]...)
	r.queued = r.queued[:copy(r.queued, r.queued[n:])]
	r.sending = n
	return batch
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
