//go:build !linux

package stream

import (
	"errors"
	"fmt"
)

// apply refuses the options that only Linux has here; buffers and TCP_NODELAY
// are set through package net.
func (s Socket) apply(int, string) error {
	if s.MSS > 0 || s.Congestion != "" || s.TOS > 0 || s.Device != "" || s.Pacing > 0 || s.DontFrag || s.Window > 0 || s.SendBuffer > 0 || s.RecvBuffer > 0 {
		return fmt.Errorf("socket options other than no-delay: %w", errors.ErrUnsupported)
	}
	return nil
}
