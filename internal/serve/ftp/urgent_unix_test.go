//go:build unix

package ftp

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// sendUrgent sends b with its last byte as urgent data.
func sendUrgent(t testing.TB, c *net.TCPConn, b []byte) {
	t.Helper()
	rc, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var serr error
	if err := rc.Write(func(fd uintptr) bool {
		serr = unix.Sendto(int(fd), b, unix.MSG_OOB, nil)
		return serr != unix.EAGAIN
	}); err != nil || serr != nil {
		t.Fatal(err, serr)
	}
}
