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
