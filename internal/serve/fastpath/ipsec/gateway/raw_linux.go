package gateway

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/segment"
)

// raw is ESP or AH straight over IP: one socket receives, another sends packets
// with headers of our own making. It may be used by two goroutines, one sending,
// one receiving.
type raw struct {
	six      bool
	protocol int
	in, out  int
	rx, tx   *vector
}

// openRaw opens the sockets of a protocol number in one family.
func openRaw(six bool, protocol int, device string) (*raw, error) {
	family, level := unix.AF_INET, unix.IPPROTO_IP
	if six {
		family, level = unix.AF_INET6, unix.IPPROTO_IPV6
	}
	r := &raw{six: six, protocol: protocol, in: -1, out: -1, rx: newVector(batch, batch), tx: newVector(batch, batch)}
	err := func() (err error) {
		if r.in, err = unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol); err != nil {
			return err
		}
		if r.out, err = unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW); err != nil {
			return err
		}
		if six { // IPv4 shows the header, IPv6 tells what was in it
			if err := errors.Join(unix.SetsockoptInt(r.in, level, unix.IPV6_RECVPKTINFO, 1), unix.SetsockoptInt(r.in, level, unix.IPV6_RECVTCLASS, 1),
				unix.SetsockoptInt(r.in, level, unix.IPV6_RECVHOPLIMIT, 1)); err != nil {
				return err
			}
		}
		return errors.Join(underlay(r.in, device), underlay(r.out, device))
	}()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("raw socket of protocol %d (it needs CAP_NET_RAW): %w", protocol, err), r.close())
	}
	buffers(r.in)
	buffers(r.out)
	return r, nil
}

// sender sends whole packets of any protocol; what comes back is another's, or
// comes past the stack.
type sender struct{ *raw }

// openSender opens the sending side in one family.
func openSender(six bool, device string) (*sender, error) {
	family := unix.AF_INET
	if six {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return nil, fmt.Errorf("raw socket (it needs CAP_NET_RAW): %w", err)
	}
	s := &sender{&raw{six: six, in: -1, out: fd, tx: newVector(batch, batch)}}
	if err := underlay(fd, device); err != nil {
		return nil, errors.Join(err, s.close())
	}
	buffers(fd)
	return s, nil
}

func (r *raw) close() (err error) {
	for _, fd := range []int{r.in, r.out} {
		if fd >= 0 {
			err = errors.Join(err, unix.Close(fd))
		}
	}
	return err
}

func (r *raw) send(packets []segment.Packet) error {
	for len(packets) > 0 {
		n := min(len(packets), batch)
		for i := range n {
			b := packets[i].Bytes()
			r.tx.iovs[i].Base = &b[0]
			r.tx.iovs[i].SetLen(len(b))
			h := &r.tx.messages[i].header
			h.Iov = &r.tx.iovs[i]
			h.SetIovlen(1)
			r.tx.to(i, b, 0)
		}
		if err := r.tx.send(r.out, n); err != nil {
			return err
		}
		packets = packets[n:]
	}
	return nil
}

const ipv6Bytes = 40

func (r *raw) receive(into *segment.Batch) error {
	into.Reset()
	n := 0
	for ; n < batch; n++ {
		p := into.Next(maxPacket)
		if p == nil {
			break
		}
		if r.six {
			p.At += ipv6Bytes
		}
		r.rx.expect(n, p.Bytes())
	}
	got, err := r.rx.receive(r.in, n)
	into.Packets = into.Packets[:got]
	for i := range into.Packets {
		p := &into.Packets[i]
		p.End = p.At + int(r.rx.messages[i].length)
		if r.six {
			p.At -= ipv6Bytes
			r.header(i, p.Bytes())
		}
	}
	return err
}

// header writes the IPv6 header that the kernel took off. Extension headers are
// lost: AH over them will not verify.
func (r *raw) header(i int, b []byte) {
	clear(b[:ipv6Bytes])
	b[0] = 0x60
	binary.BigEndian.PutUint16(b[4:], uint16(len(b)-ipv6Bytes))
	b[6] = byte(r.protocol)
	copy(b[8:24], r.rx.names[i].Addr[:])
	r.rx.controls(i, func(level, kind int32, data []byte) {
		switch {
		case level != unix.IPPROTO_IPV6:
		case kind == unix.IPV6_PKTINFO && len(data) >= 16:
			copy(b[24:40], data[:16])
		case kind == unix.IPV6_TCLASS && len(data) >= 4:
			class := *(*int32)(unsafe.Pointer(&data[0]))
			b[0], b[1] = 0x60|byte(class>>4), byte(class<<4)
		case kind == unix.IPV6_HOPLIMIT && len(data) >= 4:
			b[7] = byte(*(*int32)(unsafe.Pointer(&data[0])))
		}
	})
}
