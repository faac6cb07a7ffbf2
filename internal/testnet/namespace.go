// Package testnet is the laboratory: network namespaces joined by virtual
// Ethernet, shaped as a real link would be, with programs of others and of our
// own running in them.
//
// A Namespace has no name on disk. The kernel frees it with all its interfaces
// once the last process and descriptor is gone, so that even a killed test or
// ladder leaves nothing behind.
package testnet

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// Namespace is a network stack to run code and programs in: one of its own
// (New), or the one this process lives in (Host).
type Namespace struct {
	Name string // for messages

	work  chan func()   // run on the thread that children belong to
	close sync.Once     // closes stop
	stop  chan struct{} // ends that thread
	gone  chan struct{} // it has ended
	links int           // ordinal of the next interface
	platform
}

// New makes an empty network namespace with its loopback up and a mount of
// /sys that shows its own interfaces. It needs root, and wraps
// errors.ErrUnsupported elsewhere than on Linux. The congestion control is
// reno: a default of bbr would pace every test and stay on after a change.
func New(name string) (*Namespace, error) {
	n, err := start(name, enter)
	if err != nil {
		return nil, fmt.Errorf("testnet: namespace %s: %w", name, err)
	}
	if err := n.prepare(); err != nil {
		n.Close()
		return nil, fmt.Errorf("testnet: namespace %s: %w", name, err)
	}
	return n, nil
}

// Host returns the network this process lives in. Nothing there is changed.
func Host() *Namespace {
	n, _ := start("host", stay) // stay cannot fail
	return n
}

// start runs the goroutine whose thread lives in the namespace: children die
// with the thread that started them, so it lasts as long as the Namespace.
func start(name string, enter func(*Namespace) error) (*Namespace, error) {
	n := &Namespace{Name: name, work: make(chan func()), stop: make(chan struct{}), gone: make(chan struct{})}
	ready := make(chan error, 1)
	onThread(func() {
		defer close(n.gone)
		err := enter(n)
		ready <- err
		if err != nil {
			return
		}
		for {
			select {
			case f := <-n.work:
				f()
			case <-n.stop:
				return
			}
		}
	})
	return n, <-ready
}

// keep runs f on the thread that lasts as long as the Namespace.
func (n *Namespace) keep(f func() error) error {
	done := make(chan error, 1)
	select {
	case n.work <- func() { done <- f() }:
		return <-done
	case <-n.gone:
		return fmt.Errorf("namespace %s is closed", n.Name)
	}
}

// Do runs f on a thread inside the namespace and returns its error. Sockets
// and files of /proc and /sys that f opens are the namespace's; goroutines that
// f starts are not in it.
func (n *Namespace) Do(f func() error) error {
	done := make(chan error, 1)
	onThread(func() {
		if err := n.join(); err != nil {
			done <- fmt.Errorf("testnet: enter namespace %s: %w", n.Name, err)
			return
		}
		done <- f()
	})
	return <-done
}

// DialContext connects from inside the namespace; address must be numeric, for
// names would be looked up outside.
func (n *Namespace) DialContext(ctx context.Context, network, address string) (c net.Conn, err error) {
	err = n.Do(func() (err error) {
		c, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return c, err
}

// Listen listens inside the namespace on a numeric address.
func (n *Namespace) Listen(ctx context.Context, network, address string) (l net.Listener, err error) {
	err = n.Do(func() (err error) {
		l, err = (&net.ListenConfig{}).Listen(ctx, network, address)
		return err
	})
	return l, err
}

// ListenPacket opens a datagram socket inside the namespace.
func (n *Namespace) ListenPacket(ctx context.Context, network, address string) (c net.PacketConn, err error) {
	err = n.Do(func() (err error) {
		c, err = (&net.ListenConfig{}).ListenPacket(ctx, network, address)
		return err
	})
	return c, err
}

// Close kills the children still running and lets the kernel free the
// namespace with its interfaces. A second Close does nothing.
func (n *Namespace) Close() {
	n.close.Do(func() {
		close(n.stop)
		<-n.gone
		n.release()
	})
}
