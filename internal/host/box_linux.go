package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// WholeBox returns h with the kernel parameters that its network namespace does
// not show, or shows for reading only, because all namespaces share them:
// netdev_budget and the like. They are those of the initial namespace.
func WholeBox(h Host) Host { return wholeBox{h} }

type wholeBox struct{ Host }

// Open opens a file of the tree.
func (b wholeBox) Open(name string) (fs.File, error) {
	f, err := b.Host.Open(name)
	if err == nil || !shared(name) || !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	var text []byte
	elsewhere := initially(func() (err error) {
		text, err = live{}.ReadFile(name)
		return err
	})
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
	elsewhere := initially(func() (err error) {
		text, err = live{}.ReadFile(name)
		return err
	})
	if elsewhere != nil {
		return nil, err
	}
	return bytes.Clone(text), nil
}

// Write changes a setting.
func (b wholeBox) Write(name, value string) error {
	err := b.Host.Write(name, value)
	if err == nil || !shared(name) || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return initially(func() error { return live{}.Write(name, value) })
}

// shared reports whether the initial namespace may know better.
func shared(name string) bool {
	return strings.HasPrefix(name, "proc/sys/net/core/") || strings.HasPrefix(name, "proc/sys/net/netfilter/")
}

// initially runs f in the network namespace of the first process.
func initially(f func() error) error {
	return OnThread(func() error {
		ns, err := os.Open("/proc/1/ns/net")
		if err != nil {
			return err
		}
		defer ns.Close()
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("initial network namespace: %w", err)
		}
		return f()
	})
}
