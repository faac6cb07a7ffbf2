//go:build !linux

package generator

import (
	"errors"
	"fmt"

	"github.com/linerate/linerate/internal/port"
)

// OpenLive needs Linux.
func OpenLive(string, Profile, int) (Sender, error) { return nil, errNeedsLinux() }

// OpenSink needs Linux.
func OpenSink(string, int) (Receiver, error) { return nil, errNeedsLinux() }

// NewPorted needs Linux.
func NewPorted(port.Port, Profile) (Sender, error) { return nil, errNeedsLinux() }

// NewTapped needs Linux.
func NewTapped(port.Port, int, func([]byte)) (Receiver, error) { return nil, errNeedsLinux() }

func errNeedsLinux() error { return fmt.Errorf("generator: %w", errors.ErrUnsupported) }
