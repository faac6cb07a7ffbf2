package ftp

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// acknowledge sends the acknowledgement that the kernel would delay. Nothing of
// ours follows the client's last message of a TLS handshake, and a client under
// Nagle's algorithm holds its first command back until that is acknowledged:
// 40 ms a login.
func acknowledge(c net.Conn) {
	sc, ok := rawConn(c).(syscall.Conn)
	if !ok {
		return
	}
	if rc, err := sc.SyscallConn(); err == nil {
		_ = rc.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 1) })
	}
}
