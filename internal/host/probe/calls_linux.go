package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/host"
)

const privileges = "privileges"

// calls tries system calls whose traces vanish with a closed descriptor or an
// ended thread.
func calls() []Ability {
	return []Ability{
		root(),
		outcome(privileges, "network namespaces", "the laboratory: ladder, tests", host.OnThread(func() error { return unix.Unshare(unix.CLONE_NEWNET) }), "can be made", "a kernel with CONFIG_NET_NS"),
		outcome(privileges, "raw frames (AF_PACKET)", "generate and capture frames", openSocket(unix.AF_PACKET, unix.SOCK_RAW), "", "a kernel with CONFIG_PACKET"),
		outcome(privileges, "AF_XDP socket", "frames past the stack", openSocket(unix.AF_XDP, unix.SOCK_RAW), "", "a kernel with CONFIG_XDP_SOCKETS; AF_PACKET is used instead"),
		outcome(privileges, "BPF programs", "the fast path and the NAPI meter", loadXDP(), "an XDP program loads", "a kernel with CONFIG_BPF_SYSCALL"),
		outcome(sockets, "MSG_ZEROCOPY", "send without copying", onTCP(unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1), "", "a kernel since 4.14"),
		outcome(sockets, "TLS socket (TCP_ULP)", "FTPS downloads encrypted by sendfile", host.OnThread(upgradeTLS), "", "modprobe tls, where the kernel has CONFIG_TLS; Go's own TLS is used instead"),
		outcome(sockets, "UDP segmentation", "many datagrams with one call", segmentUDP(), "", "a kernel since 4.18"),
		outcome(sockets, "sendfile", "serve files without copying", sendfile(), "", ""),
		outcome(sockets, "splice", "store uploads without copying", splice(), "", ""),
		outcome(sockets, "io_uring", "batches of calls", ioUring(), "", "sysctl kernel.io_uring_disabled=0 where the kernel has it; plain calls are used instead"),
		outcome(measuring, "socket dump (inet_diag)", "TCP state of other processes", openDiag(), "", "a kernel with CONFIG_INET_DIAG"),
	}
}

func root() Ability {
	status, err := os.ReadFile("/proc/self/status")
	a := Ability{Group: privileges, Name: "capabilities", For: "change settings, read other processes"}
	if err != nil {
		a.Verdict, a.Detail = Unknown, reason(err)
		return a
	}
	var mask uint64
	for line := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(line, "CapEff:"); ok {
			fmt.Sscanf(strings.TrimSpace(v), "%x", &mask)
		}
	}
	var have, lack []string
	for _, c := range []struct {
		name string
		bit  int
	}{{"CAP_NET_ADMIN", unix.CAP_NET_ADMIN}, {"CAP_NET_RAW", unix.CAP_NET_RAW}, {"CAP_SYS_ADMIN", unix.CAP_SYS_ADMIN}, {"CAP_BPF", unix.CAP_BPF}, {"CAP_PERFMON", unix.CAP_PERFMON}} {
		if mask>>c.bit&1 == 1 {
			have = append(have, c.name)
		} else {
			lack = append(lack, c.name)
		}
	}
	if len(lack) > 0 {
		return outcome(privileges, a.Name, a.For, fmt.Errorf("lacks %s: %w", strings.Join(lack, ", "), os.ErrPermission), "", "")
	}
	a.Verdict, a.Detail = Yes, strings.Join(have, ", ")
	return a
}

func openSocket(family, kind int) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func openDiag() error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// onTCP sets an option on a socket that is closed again.
func onTCP(level, option, value int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.SetsockoptInt(fd, level, option, value)
}

func segmentUDP() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT, 1400)
}

// upgradeTLS makes a connected socket one of TLS, on a thread that ends: it
// gives up the capability by which the kernel would load the module.
func upgradeTLS() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData // for 64 capabilities
	if err := unix.Capget(&header, &caps[0]); err != nil {
		return err
	}
	caps[0].Effective &^= 1 << unix.CAP_NET_ADMIN
	if err := unix.Capset(&header, &caps[0]); err != nil {
		return err
	}
	return onPair(func(fd int) error {
		err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_ULP, "tls")
		if err == unix.ENOENT {
			return fmt.Errorf("module tls is not there: %w", err)
		}
		return err
	})
}

// loadXDP loads "r0 = XDP_PASS; exit" and lets go of it.
func loadXDP() error {
	program := [2][8]byte{{0xb7}, {0x95}}
	binary.NativeEndian.PutUint32(program[0][4:], 2)
	license := [4]byte{'G', 'P', 'L'}
	var pin runtime.Pinner
	pin.Pin(&program)
	pin.Pin(&license)
	defer pin.Unpin()
	// The part of union bpf_attr that BPF_PROG_LOAD has had since Linux 3.18.
	attr := struct {
		kind, count        uint32
		program, license   uint64
		logLevel, logSize  uint32
		logBuffer          uint64
		version, _reserved uint32
	}{kind: unix.BPF_PROG_TYPE_XDP, count: 2, program: uint64(uintptr(unsafe.Pointer(&program))), license: uint64(uintptr(unsafe.Pointer(&license)))}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_LOAD, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// ioUring sets up a ring of one entry and lets go of it.
func ioUring() error {
	var params [120]byte // struct io_uring_params
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// sendfile moves a byte from memory to a socket.
func sendfile() error {
	fd, err := unix.MemfdCreate("probe", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte{1}); err != nil {
		return err
	}
	return onPair(func(out int) error {
		var at int64
		_, err := unix.Sendfile(out, fd, &at, 1)
		return err
	})
}

// splice moves a byte from a pipe to a socket.
func splice() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	defer w.Close()
	if _, err := io.WriteString(w, "x"); err != nil {
		return err
	}
	return onPair(func(out int) error {
		_, err := unix.Splice(int(r.Fd()), nil, out, nil, 1, 0)
		return err
	})
}

// onPair runs f with one end of a TCP connection over loopback.
func onPair(f func(fd int) error) error {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = f(int(fd)) })
	return errors.Join(err, failed)
}
