package gateway

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/segment"
)

// datagrams is ESP in UDP on a port of ours (RFC 3948). The kernel cuts and
// joins runs of datagrams: a call sends or receives dozens.
type datagrams struct {
	six    bool
	port   uint16
	fd     int
	df     int // as the socket sends it: -1 not set yet
	rx, tx *vector
	run    []byte // what is received at once
}

const (
	maxSegments = 64 // UDP_MAX_SEGMENTS of the oldest kernels
	maxRun      = 65000
	runs        = 8
	udpBytes    = 8
	ipv4Bytes   = 20
	maxPacket   = 65535
)

func openUDP(six bool, port uint16, device string) (*datagrams, error) {
	family := unix.AF_INET
	var at unix.Sockaddr = &unix.SockaddrInet4{Port: int(port)}
	if six {
		family, at = unix.AF_INET6, &unix.SockaddrInet6{Port: int(port)}
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("UDP socket: %w", err)
	}
	d := &datagrams{six: six, port: port, fd: fd, df: -1, rx: newVector(runs, runs), tx: newVector(batch, 8*batch), run: make([]byte, runs*(maxPacket+1))}
	err = func() error {
		level, want := unix.IPPROTO_IP, []int{unix.IP_RECVTOS, unix.IP_PKTINFO}
		if six {
			level, want = unix.IPPROTO_IPV6, []int{unix.IPV6_RECVTCLASS, unix.IPV6_RECVPKTINFO, unix.IPV6_V6ONLY}
		}
		for _, option := range want {
			if err := unix.SetsockoptInt(fd, level, option, 1); err != nil {
				return err
			}
		}
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_GRO, 1) // Linux 5.0; slower without
		return errors.Join(underlay(fd, device), unix.Bind(fd, at))
	}()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("UDP port %d: %w", port, err), unix.Close(fd))
	}
	buffers(fd)
	return d, nil
}

func (d *datagrams) close() error { return unix.Close(d.fd) }

// one sends a datagram by itself.
func (d *datagrams) one(b []byte, to *net.UDPAddr) error {
	var at unix.Sockaddr
	if four := to.IP.To4(); four != nil && !d.six {
		at = &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(four)}
	} else {
		at = &unix.SockaddrInet6{Port: to.Port, Addr: [16]byte(to.IP.To16())}
	}
	return unix.Sendto(d.fd, b, 0, at)
}

// headers is the length of IP and UDP header.
func (d *datagrams) headers() int {
	if d.six {
		return ipv6Bytes + udpBytes
	}
	return ipv4Bytes + udpBytes
}

// send sends runs of packets that are alike in all but their content, each with
// one message.
func (d *datagrams) send(packets []segment.Packet) error {
	for len(packets) > 0 {
		if err := d.fragment(packets[0].Bytes()); err != nil {
			return err
		}
		messages, used := 0, 0
		for messages < batch && len(packets) > 0 && used < len(d.tx.iovs) && d.wants(packets[0].Bytes()) == d.df {
			n := d.alike(packets[:min(len(packets), len(d.tx.iovs)-used, maxSegments)])
			d.message(messages, packets[:n], d.tx.iovs[used:used+n])
			packets = packets[n:]
			used += n
			messages++
		}
		if err := d.tx.send(d.fd, messages); err != nil {
			return err
		}
	}
	return nil
}

// wants returns the DF bit of a packet; IPv6 has none.
func (d *datagrams) wants(b []byte) int {
	if d.six {
		return 1
	}
	return int(b[6] >> 6 & 1)
}

// fragment sets the socket's DF bit as the packet has it. The size of the path
// is the associations' business: the kernel must not refuse by its own guess.
func (d *datagrams) fragment(b []byte) error {
	want := d.wants(b)
	if d.six || want == d.df {
		d.df = want
		return nil
	}
	d.df = want
	how := unix.IP_PMTUDISC_PROBE
	if want == 0 {
		how = unix.IP_PMTUDISC_DONT
	}
	return unix.SetsockoptInt(d.fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, how)
}

// alike returns how many of the packets go with the first: same header but for
// length and checksum, same length, the last may be shorter.
func (d *datagrams) alike(packets []segment.Packet) int {
	first := packets[0].Bytes()
	total := len(first)
	for i := 1; i < len(packets); i++ {
		b := packets[i].Bytes()
		if len(b) > len(first) || total+len(b) > maxRun || !d.sameWay(first, b) {
			return i
		}
		if total += len(b); len(b) < len(first) {
			return i + 1
		}
	}
	return len(packets)
}

func (d *datagrams) sameWay(a, b []byte) bool {
	if d.six {
		return [4]byte(a) == [4]byte(b) && [36]byte(a[8:44]) == [36]byte(b[8:44])
	}
	return a[1] == b[1] && a[6] == b[6] && a[8] == b[8] && [12]byte(a[12:24]) == [12]byte(b[12:24])
}

// message makes the i-th message of packets that are alike.
func (d *datagrams) message(i int, packets []segment.Packet, iovs []unix.Iovec) {
	n := d.headers()
	for j := range packets {
		b := packets[j].Bytes()[n:]
		iovs[j].Base = &b[0]
		iovs[j].SetLen(len(b))
	}
	first := packets[0].Bytes()
	h := &d.tx.messages[i].header
	h.Iov = &iovs[0]
	h.SetIovlen(len(packets))
	d.tx.to(i, first, binary.BigEndian.Uint16(first[n-udpBytes+2:]))
	tos, level, kind := int32(first[1]), int32(unix.IPPROTO_IP), int32(unix.IP_TOS)
	if d.six {
		tos, level, kind = int32(binary.BigEndian.Uint32(first)>>20&0xff), unix.IPPROTO_IPV6, unix.IPV6_TCLASS
	}
	at := d.tx.put(i, 0, level, kind, (*[4]byte)(unsafe.Pointer(&tos))[:])
	if len(packets) > 1 {
		size := uint16(len(first) - n)
		at = d.tx.put(i, at, unix.IPPROTO_UDP, unix.UDP_SEGMENT, (*[2]byte)(unsafe.Pointer(&size))[:])
	}
	h.Control = &d.tx.control[i][0]
	h.SetControllen(at)
}

// receive takes runs apart and puts headers before each datagram, as ESP's own
// rules read them.
func (d *datagrams) receive(into *segment.Batch) error {
	into.Reset()
	for i := range runs {
		d.rx.expect(i, d.run[i*(maxPacket+1):(i+1)*(maxPacket+1)])
	}
	// What is received must fit: a run has up to so many datagrams.
	got, err := d.rx.receive(d.fd, min(runs, max(1, into.Free()/maxSegments)))
	for i := range got {
		d.unpack(i, into)
	}
	return err
}

func (d *datagrams) unpack(i int, into *segment.Batch) {
	b := d.run[i*(maxPacket+1):][:d.rx.messages[i].length]
	size, tos := len(b), byte(0)
	var target []byte
	d.rx.controls(i, func(level, kind int32, data []byte) {
		switch {
		case level == unix.IPPROTO_UDP && kind == unix.UDP_GRO && len(data) >= 2:
			size = int(binary.NativeEndian.Uint16(data))
		case level == unix.IPPROTO_IP && kind == unix.IP_TOS && len(data) >= 1, level == unix.IPPROTO_IPV6 && kind == unix.IPV6_TCLASS && len(data) >= 1:
			if tos = data[0]; len(data) >= 4 {
				tos = byte(binary.NativeEndian.Uint32(data))
			}
		case level == unix.IPPROTO_IP && kind == unix.IP_PKTINFO && len(data) >= 12:
			target = data[8:12] // ipi_addr
		case level == unix.IPPROTO_IPV6 && kind == unix.IPV6_PKTINFO && len(data) >= 16:
			target = data[:16]
		}
	})
	n := d.headers()
	for len(b) > 0 && size > 0 {
		payload := b[:min(size, len(b))]
		b = b[len(payload):]
		p := into.Next(n + len(payload))
		if p == nil {
			return
		}
		copy(p.Bytes()[n:], payload)
		d.header(i, p.Bytes(), tos, target)
	}
}

// header writes IP and UDP header of a datagram received.
func (d *datagrams) header(i int, b []byte, tos byte, target []byte) {
	n := d.headers()
	clear(b[:n])
	name := &d.rx.names[i]
	if d.six {
		binary.BigEndian.PutUint32(b, 6<<28|uint32(tos)<<20)
		binary.BigEndian.PutUint16(b[4:], uint16(len(b)-ipv6Bytes))
		b[6], b[7] = unix.IPPROTO_UDP, 64
		copy(b[8:], name.Addr[:])
		copy(b[24:40], target)
	} else {
		b[0], b[1], b[8], b[9] = 0x45, tos, 64, unix.IPPROTO_UDP
		binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
		copy(b[12:16], (*unix.RawSockaddrInet4)(unsafe.Pointer(name)).Addr[:])
		copy(b[16:20], target)
	}
	u := b[n-udpBytes:]
	binary.BigEndian.PutUint16(u, swap(name.Port)) // at the same place in both families
	binary.BigEndian.PutUint16(u[2:], d.port)
	binary.BigEndian.PutUint16(u[4:], uint16(len(u)))
}
