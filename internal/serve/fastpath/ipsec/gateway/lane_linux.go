package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/steer"
	"github.com/linerate/linerate/internal/wire/frame"
)

// lane is an interface whose packets go by AF_XDP sockets, one for each queue.
type lane struct {
	name   string
	index  int
	mtu    int
	mac    net.HardwareAddr
	steer  *steer.Steering
	queues []*queue
}

// queue is one socket. Its owner receives; who sends holds the lock.
type queue struct {
	port.Port
	sending sync.Mutex
}

// openLane takes an interface that has no other XDP program.
func openLane(name string) (*lane, error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("ipsec: %s: %w", name, err)
	}
	l := &lane{name: name, index: ifi.Index, mtu: ifi.MTU, mac: ifi.HardwareAddr}
	if l.steer, err = steer.Attach(name); err != nil {
		return nil, fmt.Errorf("ipsec: %w", err)
	}
	for q := range receiveQueues(name) {
		p, err := port.OpenXDP(name, port.XDPOptions{Queue: q, Sockets: l.steer.Sockets()})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("ipsec: %w", err), l.close())
		}
		l.queues = append(l.queues, &queue{Port: p})
	}
	return l, nil
}

// receiveQueues counts those of an interface, no more than the program knows.
func receiveQueues(name string) int {
	const most = 64
	n := 0
	entries, _ := os.ReadDir("/sys/class/net/" + name + "/queues")
	for _, e := range entries {
		if len(e.Name()) > 3 && e.Name()[:3] == "rx-" {
			n++
		}
	}
	return min(max(n, 1), most)
}

func (l *lane) close() error {
	err := l.steer.Close()
	for _, q := range l.queues {
		err = errors.Join(err, q.Close())
	}
	return err
}

// send sends frames by a queue and returns how many the device took.
func (l *lane) send(ctx context.Context, i int, frames []port.Frame) (int, error) {
	q := l.queues[i%len(l.queues)]
	q.sending.Lock()
	defer q.sending.Unlock()
	const patience = 1000 // times that the ring may be full
	sent := 0
	for tries := 0; sent < len(frames) && tries < patience && ctx.Err() == nil; {
		n, err := q.Send(frames[sent:])
		if err != nil {
			return sent, err
		}
		if sent += n; n == 0 {
			tries++
			runtime.Gosched()
		}
	}
	return sent, nil
}

// etherType completes an Ethernet header before the packet.
func etherType(head []byte, packet []byte) {
	head[frame.HeaderBytes-2], head[frame.HeaderBytes-1] = 0x08, 0x00
	if packet[0]>>4 == 6 {
		head[frame.HeaderBytes-2], head[frame.HeaderBytes-1] = 0x86, 0xdd
	}
}
