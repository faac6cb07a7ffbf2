package testnet

import "syscall"

// dieWithParent has the kernel kill the child when the thread that started it
// ends, so that not even SIGKILL of this process leaves a server behind.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
