//go:build !linux

package ipsec

import (
	"errors"
	"fmt"
)

// Kernel wraps errors.ErrUnsupported here.
func Kernel() (*Config, error) {
	return nil, fmt.Errorf("ipsec: xfrm is Linux's: %w", errors.ErrUnsupported)
}
