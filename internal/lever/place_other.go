//go:build !linux

package lever

import "errors"

func inodeOf(string) (uint64, error) { return 0, errors.ErrUnsupported }
