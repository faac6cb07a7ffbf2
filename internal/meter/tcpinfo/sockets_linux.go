package tcpinfo

import (
	"encoding/binary"
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/result"
)

// read asks the kernel for the state of one connection (tcp(7), TCP_INFO).
func (t *tracked) read() ([]result.Value, error) {
	var vs []result.Value
	var failed error
	err := t.conn.Control(func(fd uintptr) {
		var info []byte
		if info, failed = getInfo(int(fd)); failed != nil {
			return
		}
		kv := []string{"flow", t.flow}
		algorithm, _ := unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		vs = append(decode(info, binary.NativeEndian, kv...), decodeCwnd(info, binary.NativeEndian, algorithm, kv...)...)
		for _, o := range []struct {
			option int
			metric result.Metric
		}{{unix.SO_SNDBUF, result.TCPSendBuffer}, {unix.SO_RCVBUF, result.TCPReceiveBuffer}} {
			if n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, o.option); err == nil {
				vs = append(vs, o.metric.Of(float64(n), kv...))
			}
		}
	})
	return vs, errors.Join(err, failed)
}

// getInfo returns struct tcp_info at the length this kernel has, which
// unix.GetsockoptTCPInfo does not tell.
func getInfo(fd int) ([]byte, error) {
	buf := make([]byte, 512)
	n := uint32(len(buf))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&buf[0])), uintptr(unsafe.Pointer(&n)), 0)
	if errno != 0 {
		return nil, os.NewSyscallError("getsockopt(TCP_INFO)", errno)
	}
	return buf[:min(int(n), len(buf))], nil
}
