package nic

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/linerate/linerate/internal/port"
)

// ported is a wire on any Port: an AF_XDP queue, a cable in memory. A
// goroutine is its DMA: it copies what the port receives into free slots, and
// a frame that finds none is lost.
type ported struct {
	port port.Port
	info Info
	out  []port.Frame
	room []byte // for packets in several parts

	arrived chan struct{}
	stop    chan struct{}
	done    sync.WaitGroup

	mu         sync.Mutex
	slots      [][]byte
	at, filled int
	lost       uint64
	err        error
}

// OnPort returns a wire on p, which it closes.
func OnPort(p port.Port, ring int) Wire {
	if ring == 0 {
		ring = 256
	}
	i := p.Info()
	w := &ported{
		port: p, info: Info{Name: i.Name, Ring: ring}, slots: make([][]byte, ring),
		arrived: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	w.done.Go(w.pull)
	return w
}

func (w *ported) pull() {
	frames := make([]port.Frame, 64)
	for {
		select {
		case <-w.stop:
			return
		default:
		}
		n, err := w.port.Recv(frames)
		w.mu.Lock()
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			w.err = err
		}
		for _, f := range frames[:n] {
			if w.filled == len(w.slots) {
				w.lost++
				continue
			}
			i := (w.at + w.filled) % len(w.slots)
			w.slots[i] = append(w.slots[i][:0], f.Data...)
			w.filled++
		}
		failed := w.err != nil
		w.mu.Unlock()
		if n > 0 || failed {
			select {
			case w.arrived <- struct{}{}:
			default:
			}
		}
		if failed {
			return
		}
	}
}

func (w *ported) Info() Info { return w.info }

func (w *ported) Filled() (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.filled == 0 && w.err != nil {
		return 0, w.err
	}
	return w.filled, nil
}

func (w *ported) Frame(i int) Received {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Received{Data: w.slots[(w.at+i)%len(w.slots)]}
}

func (w *ported) Release(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = (w.at + n) % len(w.slots)
	w.filled -= n
}

func (w *ported) Wait(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-w.arrived:
	case <-t.C:
	}
	return nil
}

func (w *ported) Send(packets []Packet) (int, error) {
	w.out, w.room = w.out[:0], w.room[:0]
	for _, p := range packets[:min(len(packets), 64)] {
		start := len(w.room)
		for _, b := range p.Parts() {
			w.room = append(w.room, b...)
		}
		w.out = append(w.out, port.Frame{Len: len(w.room) - start})
	}
	rest := w.room // only now does it no longer move
	for i, f := range w.out {
		w.out[i].Data, rest = rest[:f.Len], rest[f.Len:]
	}
	n, err := w.port.Send(w.out)
	if err != nil {
		return n, fmt.Errorf("nic: %s: %w", w.info.Name, err)
	}
	if n == 0 {
		time.Sleep(50 * time.Microsecond) // the link is full
	}
	return n, nil
}

func (w *ported) Lost() (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost, nil
}

func (w *ported) Close() error {
	close(w.stop)
	w.done.Wait()
	return w.port.Close()
}
