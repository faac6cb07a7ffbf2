//go:build !linux

package testnet

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
