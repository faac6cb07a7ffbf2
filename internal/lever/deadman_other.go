//go:build !unix

package lever

import "syscall"

func ownSession() *syscall.SysProcAttr { return nil }
