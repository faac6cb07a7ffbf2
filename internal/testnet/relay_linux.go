package testnet

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/wire/pcap"
)

// relayNet holds the addresses of a relay's ends.
var relayNet = [2]string{"10.77.0.1/24", "10.77.0.2/24"}

// Join lays a relay between two namespaces.
func Join(a, b *Namespace, o RelayOptions) (*Relay, error) {
	r := &Relay{Interface: "relay0", stop: make(chan struct{})}
	var fds [2]int
	for i, n := range []*Namespace{a, b} {
		fd, err := n.tap(r.Interface, relayNet[i], cmp.Or(o.MTU, StandardMTU))
		if err != nil {
			if i == 1 {
				unix.Close(fds[0])
			}
			return nil, fmt.Errorf("testnet: relay in %s: %w", n.Name, err)
		}
		fds[i] = fd
	}
	r.A, r.B = netip.MustParsePrefix(relayNet[0]).Addr(), netip.MustParsePrefix(relayNet[1]).Addr()
	begin := time.Now()
	middle := &middle{begin: begin}
	if o.Pcap != nil {
		w, err := pcap.NewWriter(o.Pcap, 1, 128)
		if err != nil {
			return nil, errors.Join(err, unix.Close(fds[0]), unix.Close(fds[1]))
		}
		middle.w = w
	}
	var threads sync.WaitGroup
	r.ab = r.direct(&threads, begin, fds[0], fds[1], o.AB, middle)
	r.ba = r.direct(&threads, begin, fds[1], fds[0], o.BA, middle)
	r.close = sync.OnceValue(func() error {
		close(r.stop)
		threads.Wait()
		return errors.Join(unix.Close(fds[0]), unix.Close(fds[1]), middle.flush())
	})
	return r, nil
}

// tap makes a TAP device in the namespace, with an address, and returns its
// descriptor.
func (n *Namespace) tap(name, prefix string, mtu int) (fd int, err error) {
	err = n.Do(func() error {
		fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return fmt.Errorf("/dev/net/tun: %w", err)
		}
		ifr, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		ifr.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		return unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr)
	})
	if err != nil {
		return 0, err
	}
	err = n.netlink(func(h *netlink.Handle) error {
		link, err := h.LinkByName(name)
		if err != nil {
			return err
		}
		addr, err := netlink.ParseAddr(prefix)
		if err != nil {
			return err
		}
		return errors.Join(h.AddrAdd(link, addr), h.LinkSetMTU(link, mtu), h.LinkSetTxQLen(link, 20000), h.LinkSetUp(link))
	})
	if err != nil {
		unix.Close(fd)
	}
	return fd, err
}

// direct starts the two threads of one direction: one reads and decides, one
// delivers at the right time.
func (r *Relay) direct(threads *sync.WaitGroup, begin time.Time, in, out int, p Path, m *middle) *walker {
	ways := make(chan arrival, 1<<16)
	w := newWalker(p, func(a arrival) { ways <- a }, m.see)
	threads.Go(func() {
		defer close(ways)
		runtime.LockOSThread()
		buf := make([]byte, 1<<17)
		for {
			select {
			case <-r.stop:
				return
			default:
			}
			n, err := unix.Read(in, buf)
			now := time.Since(begin)
			if w.held != nil && now-w.since > thinWait {
				w.flush(now)
			}
			if err != nil {
				wait := 50
				if w.held != nil {
					wait = 1
				}
				fd := []unix.PollFd{{Fd: int32(in), Events: unix.POLLIN}}
				unix.Poll(fd, wait) // an error shows in the next Read
				continue
			}
			w.take(now, append([]byte(nil), buf[:n]...))
		}
	})
	threads.Go(func() {
		runtime.LockOSThread()
		deliver(begin, ways, out)
	})
	return w
}

// deliver writes frames at their time. Go's timers are a millisecond late, so
// the thread sleeps by itself, with the least slack.
func deliver(begin time.Time, ways <-chan arrival, out int) {
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // refused: later, not wrong
	var q arrivals
	for open := true; open || len(q) > 0; {
		if len(q) == 0 {
			a, ok := <-ways
			if !ok {
				return
			}
			heap.Push(&q, a)
		}
		for more := open; more; {
			select {
			case a, ok := <-ways:
				if !ok {
					return // closed: what is still on the way is lost
				}
				heap.Push(&q, a)
			default:
				more = false
			}
		}
		if d := q[0].at - time.Since(begin); d > 0 {
			ts := unix.NsecToTimespec(int64(d))
			unix.Nanosleep(&ts, nil)
			continue
		}
		a := heap.Pop(&q).(arrival)
		unix.Write(out, a.frame) // a full or dead device loses it, as a link would
	}
}

// middle writes the capture of the middle of the path, in order of time.
type middle struct {
	mu    sync.Mutex
	begin time.Time
	w     *pcap.Writer
	q     arrivals
	order int
	err   error
}

func (m *middle) see(at time.Duration, b []byte) {
	if m.w == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.order++
	heap.Push(&m.q, arrival{at, m.order, b})
	m.write(time.Since(m.begin) - 100*time.Millisecond)
}

// write writes what passed the middle before until: nothing earlier can come.
func (m *middle) write(until time.Duration) {
	for len(m.q) > 0 && m.q[0].at < until {
		a := heap.Pop(&m.q).(arrival)
		m.err = errors.Join(m.err, m.w.Write(m.begin.Add(a.at).UnixNano(), a.frame[:min(len(a.frame), 128)], len(a.frame)))
	}
}

func (m *middle) flush() error {
	if m.w == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.write(1 << 62)
	return errors.Join(m.err, m.w.Flush())
}
