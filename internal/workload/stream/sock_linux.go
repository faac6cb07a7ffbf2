package stream

import (
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tick bounds how long a system call of the data path blocks, so that every
// loop sees the end of its test; it is the sockets' SO_SNDTIMEO and
// SO_RCVTIMEO.
const tick = 100 * time.Millisecond

// sock is a blocking socket used with raw system calls: the poller of package
// net costs two more system calls for each time that a socket is not ready.
//
// The scheduler is not told of the calls, even of those that block: telling it
// makes it hand the thread's place to another and look for work, for every
// message that is waited for. keepPlaces makes places enough, and the
// scheduler's own signals interrupt a call that is in its way.
type sock struct {
	conn net.Conn // keeps fd open
	fd   uintptr
}

// newSock takes over the data path of c, a detached connection. The caller
// closes c, after the last use of the sock.
func newSock(c net.Conn) (*sock, error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("%T has no descriptor", c)
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	k := &sock{conn: c}
	cerr := rc.Control(func(fd uintptr) {
		k.fd = fd
		tv := unix.NsecToTimeval(int64(tick))
		for _, opt := range []int{unix.SO_SNDTIMEO, unix.SO_RCVTIMEO} {
			if err == nil {
				err = unix.SetsockoptTimeval(int(fd), unix.SOL_SOCKET, opt, &tv)
			}
		}
	})
	if cerr != nil {
		return nil, cerr
	}
	return k, err
}

// receiveTimeout replaces the tick of reads.
func (k *sock) receiveTimeout(d time.Duration) {
	tv := unix.NsecToTimeval(int64(d))
	// It was set once already, on the same socket.
	_ = unix.SetsockoptTimeval(int(k.fd), unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv)
}

// write sends some of b; 0 without an error means that a tick went by.
func (k *sock) write(b []byte) (int, error) {
	n, _, e := unix.RawSyscall6(unix.SYS_SENDTO, k.fd, addr(b), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	return outcome(n, e)
}

// read receives into b, or drops up to its length when discard is set; 0
// without an error means that a tick went by.
func (k *sock) read(b []byte, discard bool) (int, error) {
	flags := uintptr(0)
	if discard {
		flags = unix.MSG_TRUNC // on TCP: count, do not copy (tcp(7))
	}
	n, _, e := unix.RawSyscall6(unix.SYS_RECVFROM, k.fd, addr(b), uintptr(len(b)), flags, 0, 0)
	if e == 0 && n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return outcome(n, e)
}

// readNow receives what is there; 0 where nothing is.
func (k *sock) readNow(b []byte) int {
	n, _, e := unix.RawSyscall6(unix.SYS_RECVFROM, k.fd, addr(b), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	if e != 0 {
		return 0
	}
	return int(n)
}

// wakeAt makes reads wait for n bytes (SO_RCVLOWAT, socket(7)), or a tick.
func (k *sock) wakeAt(n int) {
	// Without it reads only return sooner.
	_ = unix.SetsockoptInt(int(k.fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, n)
}

// canSleep says that sleepThread is precise enough for moderation.
const canSleep = true

// sleepThread stops the calling thread for d.
func sleepThread(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	// A signal that ends it early does no harm.
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// timerSlack is how late the kernel may wake the calling thread, 0 its default
// of 50 us (prctl(2)).
func timerSlack(d time.Duration) {
	// Without it sleeps are only longer.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(d), 0, 0, 0)
}

func addr(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// outcome makes n and errno what a Go caller expects; a timeout and an
// interrupted call are no error.
func outcome(n uintptr, e syscall.Errno) (int, error) {
	switch e {
	case 0:
		return int(n), nil
	case unix.EAGAIN, unix.EINTR, unix.ENOBUFS:
		return 0, nil
	}
	return 0, e
}

// retransmits returns the segments sent again so far, -1 where the kernel does
// not say.
func (k *sock) retransmits() int64 {
	info, err := unix.GetsockoptTCPInfo(int(k.fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return -1
	}
	return int64(info.Total_retrans)
}

// congestion returns the congestion control in force.
func (k *sock) congestion() string {
	name, err := unix.GetsockoptString(int(k.fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	if err != nil {
		return ""
	}
	return name
}

// drops returns the datagrams that the socket dropped for a full receive
// buffer (SK_MEMINFO_DROPS, linux sock_diag.h).
func (k *sock) drops() int64 {
	var mem [9]uint32
	size := uint32(unsafe.Sizeof(mem))
	_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, k.fd, unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&mem)), uintptr(unsafe.Pointer(&size)), 0)
	if e != 0 {
		return 0
	}
	return int64(mem[8])
}

// threadCPU returns the CPU time of the calling thread.
func threadCPU() time.Duration { return cpuOf(unix.RUSAGE_THREAD) }

// ProcessCPU returns the CPU time of the process, user and system.
func ProcessCPU() (user, system time.Duration) {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
}

func cpuOf(who int) time.Duration {
	var u unix.Rusage
	if unix.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// pin keeps the calling thread on one core.
func pin(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pin to core %d: %w", cpu, err)
	}
	return nil
}
