//go:build !linux

package nic

import (
	"errors"
	"fmt"
)

// Options of a wire that this host's kernel is the other end of.
type Options struct {
	Ring    int
	Offload bool
}

// OpenPacket wraps errors.ErrUnsupported here.
func OpenPacket(string, Options) (Wire, error) {
	return nil, fmt.Errorf("nic: packet sockets are Linux's: %w", errors.ErrUnsupported)
}

// OpenTap wraps errors.ErrUnsupported here.
func OpenTap(string, Options) (Wire, error) {
	return nil, fmt.Errorf("nic: TAP devices are used on Linux only: %w", errors.ErrUnsupported)
}
