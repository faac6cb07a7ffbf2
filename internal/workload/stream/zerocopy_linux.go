package stream

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sender sends one buffer again and again.
type sender interface {
	send(off int) (int, error) // from off on; 0 without an error: a tick went by
	close()
}

// sender returns the way to send buf that how names.
func (k *sock) sender(how ZeroCopy, buf []byte) (sender, error) {
	switch how {
	case Copy:
		return copySender{k, buf}, nil
	case Sendfile:
		return newFileSender(k, buf)
	case Zerocopy:
		if err := unix.SetsockoptInt(int(k.fd), unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1); err != nil {
			return nil, fmt.Errorf("set SO_ZEROCOPY: %w", err)
		}
		return &zeroSender{k: k, buf: buf}, nil
	}
	return nil, fmt.Errorf("zero copy %q: want sendfile or msg_zerocopy", how)
}

type copySender struct {
	k   *sock
	buf []byte
}

func (s copySender) send(off int) (int, error) { return s.k.write(s.buf[off:]) }
func (copySender) close()                      {}

// fileSender sends from a file in memory.
type fileSender struct {
	k    *sock
	file int
	size int
}

func newFileSender(k *sock, buf []byte) (*fileSender, error) {
	fd, err := unix.MemfdCreate("linerate", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("file for sendfile: %w", err)
	}
	if _, err := unix.Pwrite(fd, buf, 0); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("file for sendfile: %w", err)
	}
	return &fileSender{k: k, file: fd, size: len(buf)}, nil
}

func (s *fileSender) send(off int) (int, error) {
	o := int64(off)
	n, err := unix.Sendfile(int(s.k.fd), s.file, &o, s.size-off)
	if err == unix.EAGAIN || err == unix.EINTR {
		return 0, nil
	}
	return max(n, 0), err
}

func (s *fileSender) close() { unix.Close(s.file) }

// zeroSender pins the pages of buf instead of copying. The payload never
// changes, so the kernel's word that it is done with them is only drained, to
// free the memory it takes.
type zeroSender struct {
	k     *sock
	buf   []byte
	calls int
}

// drainEvery is how many sends may wait for their completion.
const drainEvery = 64

func (s *zeroSender) send(off int) (int, error) {
	if s.calls++; s.calls%drainEvery == 0 {
		s.drain()
	}
	b := s.buf[off:]
	n, _, e := unix.RawSyscall6(unix.SYS_SENDTO, s.k.fd, addr(b), uintptr(len(b)), unix.MSG_NOSIGNAL|unix.MSG_ZEROCOPY, 0, 0)
	if e == unix.ENOBUFS { // over net.core.optmem_max: completions wait
		s.drain()
	}
	return outcome(n, e)
}

func (s *zeroSender) drain() {
	var oob [128]byte
	for {
		m := unix.Msghdr{Control: &oob[0]}
		m.SetControllen(len(oob))
		_, _, e := unix.RawSyscall(unix.SYS_RECVMSG, s.k.fd, uintptr(unsafe.Pointer(&m)), unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		if e != 0 {
			return
		}
	}
}

func (s *zeroSender) close() { s.drain() }
