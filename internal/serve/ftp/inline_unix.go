//go:build unix

package ftp

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// inlineUrgent keeps urgent data in the stream of a control connection: ABOR
// comes with a Telnet Synch (RFC 959 4.1.3), and some clients send the last
// byte of the command itself as urgent.
func inlineUrgent(c net.Conn) {
	sc, ok := rawConn(c).(syscall.Conn)
	if !ok {
		return
	}
	if rc, err := sc.SyscallConn(); err == nil {
		// Without it a Synch loses one byte, which LineDecoder copes with.
		_ = rc.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_OOBINLINE, 1) })
	}
}
