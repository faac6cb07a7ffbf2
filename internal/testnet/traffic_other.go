//go:build !linux

package testnet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
)

// Run moves the traffic; it needs Linux.
func (Traffic) Run(context.Context, *Namespace, *Namespace, netip.Addr) (TCPInfo, error) {
	return TCPInfo{}, fmt.Errorf("testnet: traffic: %w", errors.ErrUnsupported)
}
