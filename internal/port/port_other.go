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

// OpenTAP needs Linux.
func OpenTAP(name string) (Port, error) {
	return nil, fmt.Errorf("port: TAP %s: %w", name, errors.ErrUnsupported)
}

// OpenTUN needs Linux.
func OpenTUN(name string) (Port, error) {
	return nil, fmt.Errorf("port: TUN %s: %w", name, errors.ErrUnsupported)
}

// StampingOf needs Linux.
func StampingOf(name string) (Stamping, error) {
	return Stamping{Clock: -1}, fmt.Errorf("port: time stamping of %s: %w", name, errors.ErrUnsupported)
}

// OpenStamped needs Linux.
func OpenStamped(name string, _ bool) (Stamped, error) {
	return nil, fmt.Errorf("port: time stamps on %s: %w", name, errors.ErrUnsupported)
}

// OpenRaw needs Linux.
func OpenRaw(name string) (Port, error) {
	return nil, fmt.Errorf("port: AF_PACKET on %s: %w", name, errors.ErrUnsupported)
}
