//go:build !unix

package ftp

import (
	"net"
	"testing"
)

func sendUrgent(t testing.TB, c *net.TCPConn, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
}
