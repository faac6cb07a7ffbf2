package bench

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// kernelArg makes this test binary the bare pair's server instead: one system
// call in a loop on a blocking socket, which nothing that serves files can
// beat.
const kernelArg = "kernel-limit"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == kernelArg {
		if err := serveKernel(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveKernel serves connections at addr with what is in dir. A client says
// "WHAT BYTES", hears "r" once all is prepared and says "g" to begin.
func serveKernel(addr, dir string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println("serving", l.Addr())
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			if err := kernelSession(c.(*net.TCPConn), dir); err != nil {
				fmt.Println("failed:", err)
			}
		}()
	}
}

func kernelSession(c *net.TCPConn, dir string) error {
	defer c.Close()
	line, err := bufio.NewReaderSize(io.LimitReader(c, 64), 64).ReadString('\n')
	if err != nil {
		return err
	}
	var what string
	var n int
	if _, err := fmt.Sscan(strings.TrimSpace(line), &what, &n); err != nil {
		return err
	}
	f, err := c.File() // a socket of its own, which may block
	if err != nil {
		return err
	}
	defer f.Close()
	fd := int(f.Fd())
	if err := unix.SetNonblock(fd, false); err != nil {
		return err
	}
	do, undo, err := prepare(what, n, dir)
	if err != nil {
		return err
	}
	defer undo()
	if _, err := unix.Write(fd, []byte("r")); err != nil {
		return err
	}
	if _, err := unix.Read(fd, make([]byte, 1)); err != nil {
		return err
	}
	return do(fd)
}

// prepare makes ready everything whose cost isn't the transfer's.
func prepare(what string, n int, dir string) (do func(fd int) error, undo func(), err error) {
	switch what {
	case "sendfile":
		f, err := os.Open(filepath.Join(dir, fileOf(int64(n))))
		if err != nil {
			return nil, nil, err
		}
		return func(fd int) error { return kernelSendfile(fd, int(f.Fd()), n) }, func() { f.Close() }, nil
	case "discard":
		return func(fd int) error {
			return each(func() (int, error) { return recvfrom(fd, 64<<20, unix.MSG_TRUNC) })
		}, func() {}, nil
	case "splice":
		f, err := os.CreateTemp(dir, "splice-*")
		if err != nil {
			return nil, nil, err
		}
		return func(fd int) error { return kernelSplice(fd, int(f.Fd())) }, func() { f.Close(); os.Remove(f.Name()) }, nil
	case "mapped":
		m, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
		if err != nil {
			return nil, nil, err
		}
		return func(fd int) error {
			at := 0
			return each(func() (int, error) {
				got, err := unix.Read(fd, m[at:min(at+1<<20, len(m))])
				at += got
				return got, err
			})
		}, func() { unix.Munmap(m) }, nil
	}
	return nil, nil, fmt.Errorf("%s: not known", what)
}

// each does call until it returns 0.
func each(call func() (int, error)) error {
	for {
		n, err := call()
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return err
		}
	}
}

func recvfrom(fd int, n, flags uintptr) (int, error) {
	got, _, errno := unix.Syscall6(unix.SYS_RECVFROM, uintptr(fd), 0, n, flags, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(got), nil
}

func kernelSendfile(fd, src, n int) error {
	var off int64
	return each(func() (int, error) { return unix.Sendfile(fd, src, &off, n-int(off)) })
}

func kernelSplice(fd, dst int) error {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	if _, err := unix.FcntlInt(uintptr(p[1]), unix.F_SETPIPE_SZ, 1<<20); err != nil {
		return err
	}
	return each(func() (int, error) {
		n, err := unix.Splice(fd, nil, p[1], nil, 1<<20, unix.SPLICE_F_MOVE)
		for left := n; left > 0 && err == nil; {
			var m int64
			m, err = unix.Splice(p[0], nil, dst, nil, int(left), unix.SPLICE_F_MOVE)
			left -= m
		}
		return int(n), err
	})
}
