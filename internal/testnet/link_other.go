//go:build !linux

package testnet

import "time"

// Connect joins two namespaces with a veth pair.
func Connect(_, _ *Namespace, _ LinkOptions) (*Link, error) { return nil, errUnsupported }

// SetMTU changes the MTU of one end.
func (End) SetMTU(int) error { return errUnsupported }

// SetUp sets the interface up or down.
func (End) SetUp(bool) error { return errUnsupported }

// Counters reads what one end has sent and received.
func (End) Counters() (Counters, error) { return Counters{}, errUnsupported }

// SetOffload switches a set of offload features of one end.
func (End) SetOffload(Offload) error { return errUnsupported }

// Shape limits what this end sends.
func (End) Shape(float64) error { return errUnsupported }

// Coalesce needs Linux.
func (End) Coalesce(time.Duration) error { return errUnsupported }
