//go:build !linux

package port

import (
	"errors"
	"fmt"
)

// ListenIncoming needs Linux.
func ListenIncoming(name string, snap int) (Tap, error) { return Listen(name, snap) }

// Listen captures on an interface; on this system it can't.
func Listen(name string, _ int) (Tap, error) {
	return nil, fmt.Errorf("port: capture on %s: capture with dumpcap or tcpdump and give the file: %w", name, errors.ErrUnsupported)
}
