package port

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// memory is one end of a cable in this process's memory.
type memory struct {
	info    Info
	in, out chan []byte
	closed  chan struct{} // closed with either end
	once    *sync.Once
}

// Memory returns the two ends of a cable that holds up to depth frames each
// way; a full cable takes no more, and loses nothing.
func Memory(mtu, depth int) (a, b Port) {
	ab, ba := make(chan []byte, depth), make(chan []byte, depth)
	closed, once := make(chan struct{}), &sync.Once{}
	end := func(name string, in, out chan []byte) Port {
		return &memory{Info{Name: name, Link: 1, MTU: mtu, Batch: batch}, in, out, closed, once}
	}
	return end("memory a", ba, ab), end("memory b", ab, ba)
}

// batch is the most frames a call of any Port here moves.
const batch = 256

func (m *memory) Info() Info { return m.info }

func (m *memory) Recv(into []Frame) (int, error) {
	t := time.NewTimer(100 * time.Millisecond)
	defer t.Stop()
	var first []byte
	select {
	case first = <-m.in:
	case <-t.C:
		return 0, fmt.Errorf("port: %s: %w", m.info.Name, os.ErrDeadlineExceeded)
	case <-m.closed:
		return 0, fmt.Errorf("port: %s: %w", m.info.Name, os.ErrClosed)
	}
	now := time.Now()
	into[0] = Frame{Data: first, At: now, Len: len(first)}
	for n := 1; n < min(len(into), batch); n++ {
		select {
		case b := <-m.in:
			into[n] = Frame{Data: b, At: now, Len: len(b)}
		default:
			return n, nil
		}
	}
	return min(len(into), batch), nil
}

func (m *memory) Send(frames []Frame) (int, error) {
	for i, f := range frames[:min(len(frames), batch)] {
		select {
		case <-m.closed:
			return i, fmt.Errorf("port: %s: %w", m.info.Name, os.ErrClosed)
		default:
		}
		select {
		case m.out <- append([]byte(nil), f.Data...):
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
