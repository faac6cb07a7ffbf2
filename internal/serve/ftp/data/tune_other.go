//go:build !linux

package data

import (
	"net"
	"syscall"
)

// Control does nothing here: the knobs are set once connected.
func (k Knobs) Control(_, _ string, _ syscall.RawConn) error { return nil }

func (t *transfer) tuneSocket(*net.TCPConn, bool) error { return nil }

func (t *transfer) setEager(bool) {}
