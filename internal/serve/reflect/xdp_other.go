//go:build !linux

package reflect

import (
	"context"
	"errors"
	"fmt"

	"github.com/linerate/linerate/result"
)

// Reflector needs Linux.
type Reflector struct{ Mode string }

// Attach needs Linux.
func Attach(ifname string, _ Options) (*Reflector, error) {
	return nil, fmt.Errorf("reflect: %s: %w", ifname, errors.ErrUnsupported)
}

// Counts needs Linux.
func (*Reflector) Counts() (Counts, error) { return Counts{}, errors.ErrUnsupported }

// Name returns "reflect".
func (*Reflector) Name() string { return "reflect" }

// Read needs Linux.
func (*Reflector) Read(context.Context) ([]result.Value, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*Reflector) Close() error { return nil }

// monotonic stamps nothing here: no frame has come by a Port.
func monotonic() uint64 { return 0 }
