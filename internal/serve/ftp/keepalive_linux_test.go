package ftp

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel keeps the control connection alive, whether the listener would
// have done so or not.
func TestControlConnectionIsKeptAlive(t *testing.T) {
	config := net.ListenConfig{KeepAlive: -1}
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := serveListener(t, l, Config{})
	login(t, r.addr)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sessions) != 1 {
		t.Fatalf("%d sessions, want 1", len(r.sessions))
	}
	for x := range r.sessions {
		rc, err := x.tcp.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []struct {
			name                string
			level, option, want int
		}{
			{"SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{"TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 60},
			{"TCP_KEEPINTVL", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 15},
			{"TCP_KEEPCNT", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 4},
		} {
			var got int
			if cerr := rc.Control(func(fd uintptr) { got, err = unix.GetsockoptInt(int(fd), o.level, o.option) }); cerr != nil || err != nil {
				t.Fatal(o.name, cerr, err)
			}
			if got != o.want {
				t.Errorf("%s is %d, want %d", o.name, got, o.want)
			}
		}
	}
}
