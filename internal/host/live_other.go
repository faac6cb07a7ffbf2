//go:build !linux

package host

import (
	"fmt"
	"runtime"
)

// Live returns ErrUnsupported: only Linux shows its counters as files. Record
// a Linux box with the collect verb and read it with Open.
func Live() (Host, error) {
	return nil, fmt.Errorf("live host on %s: %w", runtime.GOOS, ErrUnsupported)
}

// Inside is a live host in another network namespace, which only Linux has.
type Inside struct{ recorded }

// LiveIn returns ErrUnsupported.
func LiveIn(func(func() error) error) (*Inside, error) { return nil, noNamespaces() }

// InNamespace returns ErrUnsupported.
func InNamespace(string) (*Inside, error) { return nil, noNamespaces() }

// WholeBox returns h.
func WholeBox(h Host) Host { return h }

// Close does nothing.
func (*Inside) Close() error { return nil }

func noNamespaces() error {
	return fmt.Errorf("network namespaces on %s: %w", runtime.GOOS, ErrUnsupported)
}
