//go:build unix

package lever

import "syscall"

// ownSession keeps the timer alive when the terminal or SSH session ends.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
