package testnet

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// platform holds the handles of a namespace of our own; both nil for Host.
type platform struct {
	net, mnt *os.File
}

// onThread runs f on an operating system thread of its own that ends with f,
// so that no other goroutine ever finds itself in a namespace. It returns at
// once.
func onThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The main thread cannot end, and /proc/self speaks of it: hold
			// it while another thread is found.
			done := make(chan struct{})
			onThread(func() { defer close(done); f() })
			<-done
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
}

func stay(*Namespace) error { return nil }

// enter moves the calling thread into a new network namespace, and into a
// mount namespace in which /sys shows it (as "ip netns exec" does).
func enter(n *Namespace) error {
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare (it needs root): %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount / as slave: %w", err)
	}
	if err := unix.Mount("linerate", "/sys", "sysfs", 0, ""); err != nil {
		return fmt.Errorf("mount /sys: %w", err)
	}
	var err error
	if n.net, err = os.Open("/proc/thread-self/ns/net"); err != nil {
		return err
	}
	n.mnt, err = os.Open("/proc/thread-self/ns/mnt")
	return err
}

// join moves the calling thread into the namespace for good.
func (n *Namespace) join() error {
	if n.net == nil {
		return nil
	}
	// A thread that shares its root and directory with others may not change
	// its mounts.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	if err := unix.Setns(int(n.net.Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	return unix.Setns(int(n.mnt.Fd()), unix.CLONE_NEWNS)
}

func (n *Namespace) release() {
	if n.net != nil {
		n.net.Close()
		n.mnt.Close()
	}
}

// prepare brings loopback up and sets what every measurement wants known.
func (n *Namespace) prepare() error {
	err := n.netlink(func(h *netlink.Handle) error {
		lo, err := h.LinkByName("lo")
		if err != nil {
			return err
		}
		return h.LinkSetUp(lo)
	})
	if err != nil {
		return fmt.Errorf("lo up: %w", err)
	}
	if err := n.SetSysctl("net.ipv4.tcp_congestion_control", "reno"); err != nil {
		return err
	}
	// An earlier connection's slow-start threshold must not shape the next.
	return n.SetSysctl("net.ipv4.tcp_no_metrics_save", "1")
}

// netlink runs f with a route socket of the namespace.
func (n *Namespace) netlink(f func(*netlink.Handle) error) error {
	return n.Do(func() error {
		h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer h.Close()
		return f(h)
	})
}

// SetSysctl writes a setting of the namespace, such as net.ipv4.tcp_rmem.
func (n *Namespace) SetSysctl(name, value string) error {
	return n.Do(func() error {
		if err := os.WriteFile(sysctlPath(name), []byte(value), 0); err != nil {
			return fmt.Errorf("testnet: sysctl %s=%s: %w", name, value, err)
		}
		return nil
	})
}

// Sysctl reads a setting of the namespace; fields are separated by one space.
func (n *Namespace) Sysctl(name string) (value string, err error) {
	err = n.Do(func() error {
		b, err := os.ReadFile(sysctlPath(name))
		value = strings.Join(strings.Fields(string(b)), " ")
		return err
	})
	return value, err
}

func sysctlPath(name string) string {
	return filepath.Join("/proc/sys", strings.ReplaceAll(name, ".", "/"))
}
