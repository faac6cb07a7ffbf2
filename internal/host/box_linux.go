package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// WholeBox returns h with the kernel parameters that its network namespace does
// not show, or shows for reading only, because all namespaces share them:
// netdev_budget and the like. They are those of the initial namespace, which
// this process must be in, have been started from, or be allowed to enter.
func WholeBox(h Host) Host {
	if _, err := fs.Stat(h, "proc/sys/net/core/netdev_budget"); err == nil {
		return h
	}
	if ns := initialNamespace(); ns != nil {
		return wholeBox{h, ns}
	}
	return h
}

// wholeBox keeps the namespace open: its processes may end before we do.
type wholeBox struct {
	Host
	initial *os.File
}

// Open opens a file of the tree.
func (b wholeBox) Open(name string) (fs.File, error) {
	f, err := b.Host.Open(name)
	if err == nil || !shared(name) || !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	text, elsewhere := b.initially(name)
	if elsewhere != nil {
		return nil, err
	}
	return file(name, text), nil
}

// ReadFile reads a whole file of the tree; see live.ReadFile.
func (b wholeBox) ReadFile(name string) ([]byte, error) {
	text, err := fs.ReadFile(b.Host, name)
	if err == nil || !shared(name) || !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	text, elsewhere := b.initially(name)
	if elsewhere != nil {
		return nil, err
	}
	return text, nil
}

// Write changes a setting.
func (b wholeBox) Write(name, value string) error {
	err := b.Host.Write(name, value)
	if err == nil || !shared(name) || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return within(b.initial, func() error { return live{}.Write(name, value) })
}

func (b wholeBox) initially(name string) (text []byte, err error) {
	err = within(b.initial, func() (err error) {
		text, err = live{}.ReadFile(name)
		return err
	})
	return text, err
}

// shared reports whether the initial namespace may know better.
func shared(name string) bool {
	return strings.HasPrefix(name, "proc/sys/net/core/") || strings.HasPrefix(name, "proc/sys/net/netfilter/")
}

// initialNamespace looks for the network namespace that shows what all share:
// that of this process, the first process, or one that started this.
func initialNamespace() *os.File {
	for _, pid := range append([]int{os.Getpid(), 1}, ancestors()...) {
		ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
		if err != nil {
			continue
		}
		if within(ns, func() error { _, err := os.Stat("/proc/sys/net/core/netdev_budget"); return err }) == nil {
			return ns
		}
		ns.Close()
	}
	return nil
}

// ancestors are the processes that started this one, the nearest first.
func ancestors() []int {
	var out []int
	for pid := os.Getppid(); pid > 1; {
		out = append(out, pid)
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			break
		}
		f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // state, parent
		if len(f) < 2 {
			break
		}
		if pid, err = strconv.Atoi(f[1]); err != nil {
			break
		}
	}
	return out
}

// within runs f in a network namespace.
func within(ns *os.File, f func() error) error {
	return OnThread(func() error {
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("initial network namespace: %w", err)
		}
		return f()
	})
}
