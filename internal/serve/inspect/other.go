//go:build !linux

package inspect

import (
	"context"
	"errors"
	"fmt"
)

// Inspector looks at the frames of an interface.
type Inspector struct{ Where string }

func unsupported() error { return fmt.Errorf("inspect: it needs Linux: %w", errors.ErrUnsupported) }

// Attach isn't supported here.
func Attach(string, Options) (*Inspector, error) { return nil, unsupported() }

// Records isn't supported here.
func (*Inspector) Records(context.Context, func(*Record)) error { return unsupported() }

// Counts isn't supported here.
func (*Inspector) Counts() (Counts, error) { return Counts{}, unsupported() }

// Protocols isn't supported here.
func (*Inspector) Protocols() (map[int]Volume, error) { return nil, unsupported() }

// Flows isn't supported here.
func (*Inspector) Flows() ([]Flow, error) { return nil, unsupported() }

// Detach does nothing.
func (*Inspector) Detach() error { return nil }

// Close does nothing.
func (*Inspector) Close() error { return nil }
