package stream

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bounds of segmentation offload: the kernel cuts one buffer into at most 64
// datagrams (UDP_MAX_SEGMENTS before Linux 6.9) within one IP packet's length.
const (
	maxSegments = 64
	maxOffload  = 65507
)

// mmsghdr is struct mmsghdr of recvmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
}

// datagramSender sends a batch of datagrams in one system call: as one buffer
// that the kernel cuts (UDP_SEGMENT, udp(7)), or else with sendmmsg(2).
type datagramSender struct {
	k        *sock
	size     int
	buf      []byte // the datagrams one behind the other
	iov      []unix.Iovec
	msgs     []mmsghdr
	segments bool
}

func newDatagramSender(k *sock, t Test) *datagramSender {
	d := &datagramSender{k: k, size: t.Message}
	n := min(t.Batch, max(maxOffload/t.Message, 1), maxSegments)
	if !t.NoOffload && n > 1 {
		d.segments = unix.SetsockoptInt(int(k.fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT, t.Message) == nil
	}
	if !d.segments {
		n = min(t.Batch, max(t.share(t.Message, 1<<20)/t.Message, 1))
	}
	d.buf = t.payload(n * t.Message)
	d.iov, d.msgs = make([]unix.Iovec, n), make([]mmsghdr, n)
	for i := range n {
		d.iov[i].Base = &d.buf[i*t.Message]
		d.iov[i].SetLen(t.Message)
		d.msgs[i].hdr.Iov = &d.iov[i]
		d.msgs[i].hdr.SetIovlen(1)
	}
	return d
}

// slots returns how many datagrams one call of send takes at most.
func (d *datagramSender) slots() int { return len(d.msgs) }

// slot returns the payload of the i-th.
func (d *datagramSender) slot(i int) []byte { return d.buf[i*d.size : (i+1)*d.size] }

// send sends the datagrams from first to before end and returns how many went
// out; none without an error means that a tick went by.
func (d *datagramSender) send(first, end int) (int, error) {
	if d.segments {
		n, err := d.k.write(d.buf[first*d.size : end*d.size])
		switch err {
		case unix.EIO, unix.EINVAL, unix.EMSGSIZE:
			// The device sums no checksums, or the datagram needs IP fragments.
			d.segments = false
			return 0, unix.SetsockoptInt(int(d.k.fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT, 0)
		case unix.ECONNREFUSED: // an ICMP error of an earlier datagram
			return 0, nil
		}
		return n / d.size, err
	}
	p, n := uintptr(unsafe.Pointer(&d.msgs[first])), uintptr(end-first)
	got, _, e := unix.RawSyscall6(unix.SYS_SENDMMSG, d.k.fd, p, n, unix.MSG_NOSIGNAL, 0, 0)
	if e == unix.ECONNREFUSED {
		return 0, nil
	}
	return outcome(got, e)
}

// Sizes of a receiver's batch: with coalescing each buffer may hold a whole
// train of datagrams.
const (
	receiveBatch  = 64
	coalesceBatch = 16
	coalesceSize  = 64 << 10
)

// datagramReceiver takes a batch of datagrams in one recvmmsg(2), and trains
// of them that the kernel coalesced (UDP_GRO, udp(7)).
type datagramReceiver struct {
	k    *sock
	size int
	buf  []byte
	oob  []byte
	iov  []unix.Iovec
	msgs []mmsghdr
	got  int
}

// oobSpace is the space of one control message that carries an int.
var oobSpace = unix.CmsgSpace(4)

func newDatagramReceiver(k *sock, t Test) *datagramReceiver {
	n, size := max(t.share(t.Message, receiveBatch*t.Message)/t.Message, 1), t.Message
	if !t.NoOffload && unix.SetsockoptInt(int(k.fd), unix.IPPROTO_UDP, unix.UDP_GRO, 1) == nil {
		n, size = t.share(coalesceSize, coalesceBatch*coalesceSize)/coalesceSize, coalesceSize
	}
	d := &datagramReceiver{k: k, size: size, buf: make([]byte, n*size), oob: make([]byte, n*oobSpace),
		iov: make([]unix.Iovec, n), msgs: make([]mmsghdr, n)}
	for i := range n {
		d.iov[i].Base = &d.buf[i*size]
		d.iov[i].SetLen(size)
		d.msgs[i].hdr.Iov = &d.iov[i]
		d.msgs[i].hdr.SetIovlen(1)
		d.msgs[i].hdr.Control = &d.oob[i*oobSpace]
		d.msgs[i].hdr.SetControllen(oobSpace)
	}
	return d
}

// wait receives what is there, or waits up to a tick for the first datagram.
func (d *datagramReceiver) wait() error {
	for i := range d.got {
		d.msgs[i].hdr.SetControllen(oobSpace) // the kernel wrote what it used
	}
	d.got = 0
	p, n := uintptr(unsafe.Pointer(&d.msgs[0])), uintptr(len(d.msgs))
	got, _, e := unix.RawSyscall6(unix.SYS_RECVMMSG, d.k.fd, p, n, unix.MSG_WAITFORONE, 0, 0)
	if e == unix.ECONNREFUSED {
		return nil
	}
	var err error
	d.got, err = outcome(got, e)
	return err
}

// each calls f with every datagram of the last wait.
func (d *datagramReceiver) each(f func([]byte)) {
	for i := range d.got {
		b := d.buf[i*d.size:][:min(int(d.msgs[i].n), d.size)]
		for step := d.segment(i, len(b)); ; {
			n := min(step, len(b)) // an empty datagram is one too
			f(b[:n])
			if b = b[n:]; len(b) == 0 {
				break
			}
		}
	}
}

// segment returns the length of the datagrams in message i, n where it holds
// one.
func (d *datagramReceiver) segment(i, n int) int {
	h := &d.msgs[i].hdr
	if uint64(h.Controllen) < uint64(unix.CmsgLen(4)) {
		return n
	}
	c := (*unix.Cmsghdr)(unsafe.Pointer(&d.oob[i*oobSpace]))
	if c.Level != unix.IPPROTO_UDP || c.Type != unix.UDP_GRO {
		return n
	}
	size := *(*int32)(unsafe.Pointer(&d.oob[i*oobSpace+unix.CmsgLen(0)]))
	if size <= 0 {
		return n
	}
	return int(size)
}
