//go:build !linux

package data

import "net"

// ReadTCPInfo returns nil: only Linux tells.
func ReadTCPInfo(net.Conn) *TCPInfo { return nil }
