package nic

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// idle bounds a wait for the first frame, after which the loop looks around.
const idle = 100 * time.Millisecond

// unwatched bounds a sleep with frames in the ring: a board's firmware sees its
// list fill up by itself, we have to look.
const unwatched = 2 * Tick

// receive is the card's receive side and its interrupt: it waits until an
// interrupt is due and serves it, on a thread of its own, because the timer's
// accuracy is that thread's.
func (n *NIC) receive(ctx context.Context, d Driver) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for ctx.Err() == nil {
		filled, err := n.wire.Filled()
		if err != nil {
			return fmt.Errorf("nic: receive: %w", err)
		}
		if filled == 0 {
			if err := n.wire.Wait(idle); err != nil {
				return fmt.Errorf("nic: receive: %w", err)
			}
			continue
		}
		now := n.timer.Now()
		wait, yes := n.pacer.due(now, filled)
		if !yes {
			n.timer.Sleep(min(wait, unwatched))
			continue
		}
		if err := n.interrupt(d, now, filled); err != nil {
			return err
		}
	}
	return nil
}

// interrupt serves frames, a budget at a time, until the ring is empty, as a
// polling driver does: what comes in the meantime needs no interrupt. It goes
// on until a poll leaves budget over.
func (n *NIC) interrupt(d Driver, now time.Duration, filled int) error {
	c := &n.count
	if n.pacer.Mode != Immediate {
		held := int64(now - n.pacer.first)
		c.held.Add(held)
		c.worst.Store(max(c.worst.Load(), held))
	}
	if n.cfg.InterruptCost > 0 {
		n.timer.Spin(n.cfg.InterruptCost)
	}
	first := c.frames.Load()
	budget := n.cfg.Budget
	if n.cfg.StopAfterEach {
		budget = 1
		c.restarts.Add(1)
	}
	for filled > 0 {
		take := min(filled, budget)
		n.poll(d, take)
		if take < budget || n.cfg.StopAfterEach {
			break
		}
		var err error
		if filled, err = n.wire.Filled(); err != nil {
			return fmt.Errorf("nic: receive: %w", err)
		}
	}
	batch := c.frames.Load() - first
	c.interrupts.Add(1)
	c.longest.Store(max(c.longest.Load(), batch))
	n.pacer.served(now)
	if n.cfg.Trace > 0 {
		n.trace.note(Receive, first, int(batch), now, n.timer.Now())
	}
	return nil
}

// poll hands over the n oldest frames.
func (n *NIC) poll(d Driver, take int) {
	var bytes int64
	for i := range take {
		f := n.wire.Frame(i)
		bytes += int64(len(f.Data))
		head, body := f.Data, []byte(nil)
		if n.place != nil {
			head, body = n.place.put(f.Data)
			n.count.fifo[n.place.fifo()].Add(1)
		}
		d.Receive(head, body, f.Checked)
	}
	d.Flush()
	n.wire.Release(take)
	n.count.polls.Add(1)
	n.count.frames.Add(int64(take))
	n.count.received.Add(bytes)
}
