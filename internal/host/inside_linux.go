package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Inside is a live host as seen from a thread of its own, which stays in
// another network namespace. Any goroutine may use it.
type Inside struct {
	work chan func()
	stop chan struct{} // closed by Close
	gone chan struct{} // closed when the thread has ended
	once sync.Once
}

// LiveIn returns the box as a thread sees it that enter runs a function on,
// such as the Do method of a namespace. The thread serves until Close.
func LiveIn(enter func(func() error) error) (*Inside, error) {
	in := &Inside{work: make(chan func()), stop: make(chan struct{}), gone: make(chan struct{})}
	ready := make(chan error, 1)
	go func() {
		defer close(in.gone)
		err := enter(func() error {
			ready <- nil
			for {
				select {
				case f := <-in.work:
					f()
				case <-in.stop:
					return nil
				}
			}
		})
		if err != nil {
			ready <- err
		}
	}()
	if err := <-ready; err != nil {
		return nil, err
	}
	return in, nil
}

// InNamespace returns the box as seen from a network namespace: a name of
// ip-netns(8), such as "dut", or a path, such as "/proc/4711/ns/net". It needs
// CAP_SYS_ADMIN.
func InNamespace(name string) (*Inside, error) {
	path := name
	if !strings.Contains(name, "/") {
		path = filepath.Join("/run/netns", name)
	}
	in, err := LiveIn(func(f func() error) error {
		return OnThread(func() error {
			if err := join(path); err != nil {
				return err
			}
			return f()
		})
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("network namespace %s: %w; 'ip netns' lists those there are", name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("network namespace %s: %w", name, err)
	}
	return in, nil
}

// OnThread runs f on a thread that ends with it, so that what f changes of the
// thread, such as its namespaces, never meets another goroutine.
func OnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The main thread cannot end, and /proc/self speaks of it: hold it
			// while another is found.
			defer runtime.UnlockOSThread()
			done <- OnThread(f)
			return
		}
		done <- f()
	}()
	return <-done
}

// join moves the calling thread into the namespace at path for good, with a
// /sys that shows its interfaces (network_namespaces(7), sysfs(5)).
func join(path string) error {
	ns, err := os.Open(path)
	if err != nil {
		return err
	}
	defer ns.Close()
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("private mounts (it needs root): %w", err)
	}
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("setns: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount / as slave: %w", err)
	}
	if err := unix.Mount("linerate", "/sys", "sysfs", 0, ""); err != nil {
		return fmt.Errorf("mount /sys: %w", err)
	}
	return nil
}

// do runs f on the thread.
func (in *Inside) do(f func()) error {
	done := make(chan struct{})
	select {
	case in.work <- func() { defer close(done); f() }:
		<-done
		return nil
	case <-in.gone:
		return errors.New("host: namespace closed")
	}
}

// Open opens a file of the tree. Reading it needs the thread no more.
func (in *Inside) Open(name string) (f fs.File, err error) {
	if gone := in.do(func() { f, err = live{}.Open(name) }); gone != nil {
		return nil, gone
	}
	return f, err
}

// ReadFile reads a whole file of the tree.
func (in *Inside) ReadFile(name string) (b []byte, err error) {
	if gone := in.do(func() { b, err = live{}.ReadFile(name) }); gone != nil {
		return nil, gone
	}
	return b, err
}

// Write changes a setting of the namespace.
func (in *Inside) Write(name, value string) (err error) {
	if gone := in.do(func() { err = live{}.Write(name, value) }); gone != nil {
		return gone
	}
	return err
}

// Close ends the thread; the host can be used no more.
func (in *Inside) Close() error {
	in.once.Do(func() { close(in.stop) })
	<-in.gone
	return nil
}
