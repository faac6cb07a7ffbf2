//go:build !linux

package ethtool

import "errors"

// Files lists the files that an interface has: none on this platform.
func Files() []string { return nil }

// Read returns errors.ErrUnsupported.
func Read(_, _ string) (string, error) { return "", errors.ErrUnsupported }

// Write returns errors.ErrUnsupported.
func Write(_, _, _ string) error { return errors.ErrUnsupported }
