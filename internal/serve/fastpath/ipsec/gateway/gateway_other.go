//go:build !linux

package gateway

import (
	"context"
	"errors"
	"fmt"
)

// Gateway is a gateway; only Linux has one.
type Gateway struct{}

// Open wraps errors.ErrUnsupported here.
func Open(Options) (*Gateway, error) {
	return nil, fmt.Errorf("ipsec: a gateway needs Linux: %w", errors.ErrUnsupported)
}

// Serve does nothing here.
func (*Gateway) Serve(context.Context) error { return nil }

// Status is empty here.
func (*Gateway) Status(context.Context) Status { return Status{} }

// Close does nothing here.
func (*Gateway) Close() error { return nil }
