//go:build !linux

package tcpinfo

import (
	"fmt"
	"runtime"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

func (*tracked) read() ([]result.Value, error) {
	return nil, fmt.Errorf("TCP_INFO on %s: %w", runtime.GOOS, host.ErrUnsupported)
}
