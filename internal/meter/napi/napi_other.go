//go:build !linux

package napi

import (
	"context"
	"errors"
	"fmt"

	"github.com/linerate/linerate/result"
)

// Meter needs Linux.
type Meter struct{}

// Open returns an error that wraps errors.ErrUnsupported.
func Open(int) (*Meter, error) { return nil, fmt.Errorf("napi: %w", errors.ErrUnsupported) }

// Name returns "napi".
func (*Meter) Name() string { return "napi" }

// Read returns nothing.
func (*Meter) Read(context.Context) ([]result.Value, error) { return nil, errors.ErrUnsupported }

// Calls returns nothing.
func (*Meter) Calls() ([]Call, error) { return nil, errors.ErrUnsupported }

// OverheadSeconds returns 0.
func (*Meter) OverheadSeconds() float64 { return 0 }

// Close does nothing.
func (*Meter) Close() error { return nil }
