package port

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// memory is one end of a cable in this process's memory.
type memory struct {
	info   Info
	in     lane
	out    lane
	closed chan struct{} // closed with either end
	once   *sync.Once
}

// Memory returns the two ends of a cable that holds up to depth frames each
// way; a full cable takes no more, and loses nothing.
func Memory(mtu, depth int) (a, b Port) {
	ab, ba := make(lane, depth), make(lane, depth)
	closed, once := make(chan struct{}), &sync.Once{}
	end := func(name string, in, out lane) Port {
		return &memory{Info{Name: name, Link: 1, MTU: mtu, Batch: batch}, in, out, closed, once}
	}
	return end("memory a", ba, ab), end("memory b", ab, ba)
}

// batch is the most frames a call of any Port here moves.
const batch = 256

// patience is how long Recv waits before it lets its caller look around.
const patience = 100 * time.Millisecond

// lane carries frames from one goroutine to another.
type lane chan Frame

// receive is Recv of a Port that others feed.
func (l lane) receive(name string, closed <-chan struct{}, into []Frame) (int, error) {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case into[0] = <-l:
	case <-t.C:
		return 0, fmt.Errorf("port: %s: %w", name, os.ErrDeadlineExceeded)
	case <-closed:
		return 0, fmt.Errorf("port: %s: %w", name, os.ErrClosed)
	}
	for n := 1; n < min(len(into), batch); n++ {
		select {
		case into[n] = <-l:
		default:
			return n, nil
		}
	}
	return min(len(into), batch), nil
}

func (m *memory) Info() Info { return m.info }

func (m *memory) Recv(into []Frame) (int, error) { return m.in.receive(m.info.Name, m.closed, into) }

func (m *memory) Send(frames []Frame) (int, error) {
	now := time.Now()
	for i, f := range frames[:min(len(frames), batch)] {
		select {
		case <-m.closed:
			return i, fmt.Errorf("port: %s: %w", m.info.Name, os.ErrClosed)
		default:
		}
		select {
		case m.out <- Frame{Data: append([]byte(nil), f.Data...), At: now, Len: len(f.Data)}:
		default:
			return i, nil
		}
	}
	return min(len(frames), batch), nil
}

func (m *memory) Close() error {
	m.once.Do(func() { close(m.closed) })
	return nil
}
