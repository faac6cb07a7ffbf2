//go:build !linux

package testnet

import (
	"errors"
	"fmt"
)

// Join lays a relay between two namespaces; it needs Linux.
func Join(_, _ *Namespace, _ RelayOptions) (*Relay, error) {
	return nil, fmt.Errorf("testnet: relay: %w", errors.ErrUnsupported)
}
