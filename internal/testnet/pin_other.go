//go:build !linux

package testnet

// Pin needs Linux.
func (*Namespace) Pin(int) error { return errUnsupported }

// PinSelf needs Linux.
func PinSelf(int) (func() error, error) { return nil, errUnsupported }
