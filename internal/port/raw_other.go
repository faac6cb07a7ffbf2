//go:build !linux

package port

import (
	"errors"
	"fmt"
)

// XDPOptions needs Linux.
type XDPOptions struct {
	Queue    int
	Generic  bool
	SendOnly bool
}

// OpenXDP needs Linux.
func OpenXDP(name string, _ XDPOptions) (Port, error) {
	return nil, fmt.Errorf("port: AF_XDP on %s: %w", name, errors.ErrUnsupported)
}

// OpenRaw needs Linux.
func OpenRaw(name string) (Port, error) {
	return nil, fmt.Errorf("port: AF_PACKET on %s: %w", name, errors.ErrUnsupported)
}
