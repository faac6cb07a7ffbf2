package nic

import (
	"encoding/binary"
	"fmt"
	"net"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Options of a wire that this host's kernel is the other end of.
type Options struct {
	Ring    int  // receive descriptors; 0: 256
	Offload bool // let the kernel sum, cut and join (virtio-net headers)
}

func (o Options) orDefault() Options {
	if o.Ring == 0 {
		o.Ring = 256
	}
	return o
}

// packet is a wire on a network interface. The receive ring is shared with the
// kernel (packet_mmap, TPACKET_V2), which fills it as a card's DMA would,
// also while nobody looks.
type packet struct {
	info    Info
	fd      int
	memory  []byte
	slot    int // bytes of one
	at      int // the oldest filled slot
	gather  gather
	dropped atomic.Uint64
}

// OpenPacket returns a wire on an interface. It needs CAP_NET_RAW. The
// interface should have no address: the kernel's stack sees the frames too.
func OpenPacket(name string, o Options) (Wire, error) {
	o = o.orDefault()
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("nic: %s: %w", name, err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("nic: packet socket on %s (it needs CAP_NET_RAW): %w", name, err)
	}
	p := &packet{fd: fd, gather: gather{virtio: o.Offload}, info: Info{Name: name + ", AF_PACKET ring", Ring: o.Ring, Checksum: o.Offload, Segment: o.Offload}}
	if err := p.open(ifi, o); err != nil {
		p.Close()
		return nil, fmt.Errorf("nic: packet ring on %s: %w", name, err)
	}
	return p, nil
}

// Offsets into struct tpacket2_hdr.
const (
	slotStatus = 0
	slotSnap   = 8
	slotMAC    = 12
)

// The room of a slot before the frame: tpacket2_hdr, sockaddr_ll, alignment
// and the virtio-net header.
const slotHead = 128

func (p *packet) open(ifi *net.Interface, o Options) error {
	if o.Offload {
		if err := unix.SetsockoptInt(p.fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1); err != nil {
			return fmt.Errorf("PACKET_VNET_HDR: %w", err)
		}
	}
	_ = unix.SetsockoptInt(p.fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1) // since Linux 4.20; without, our own frames come back and the stack drops them
	_ = unix.SetsockoptInt(p.fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 8<<20)     // as much as allowed without
	if err := unix.SetsockoptInt(p.fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V2); err != nil {
		return fmt.Errorf("TPACKET_V2: %w", err)
	}
	p.slot = roundUp(ifi.MTU + slotHead)
	if o.Offload {
		p.slot = 1 << 17 // a joined segment has up to 64 KiB
	}
	block := max(p.slot, unix.Getpagesize())
	perBlock := block / p.slot
	p.info.Ring = (o.Ring + perBlock - 1) / perBlock * perBlock
	req := unix.TpacketReq{Block_size: uint32(block), Block_nr: uint32(p.info.Ring / perBlock), Frame_size: uint32(p.slot), Frame_nr: uint32(p.info.Ring)}
	if err := unix.SetsockoptTpacketReq(p.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &req); err != nil {
		return fmt.Errorf("a ring of %d slots of %d bytes: %w", p.info.Ring, p.slot, err)
	}
	var err error
	if p.memory, err = unix.Mmap(p.fd, 0, p.info.Ring*p.slot, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return fmt.Errorf("mmap: %w", err)
	}
	proto := binary.NativeEndian.Uint16([]byte{unix.ETH_P_ALL >> 8, unix.ETH_P_ALL & 255})
	return unix.Bind(p.fd, &unix.SockaddrLinklayer{Protocol: proto, Ifindex: ifi.Index})
}

// roundUp returns the least power of two that n fits in.
func roundUp(n int) int {
	size := 1 << 11
	for size < n {
		size <<= 1
	}
	return size
}

func (p *packet) Info() Info { return p.info }

// status is that of the i-th slot from the oldest.
func (p *packet) status(i int) *uint32 {
	return (*uint32)(unsafe.Pointer(&p.memory[(p.at+i)%p.info.Ring*p.slot+slotStatus]))
}

// Filled searches for the end of the filled slots: the kernel fills in order.
func (p *packet) Filled() (int, error) {
	low, high := 0, p.info.Ring
	for low < high {
		mid := (low + high) / 2
		if atomic.LoadUint32(p.status(mid))&unix.TP_STATUS_USER != 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, nil
}

func (p *packet) Frame(i int) Received {
	s := p.memory[(p.at+i)%p.info.Ring*p.slot:][:p.slot]
	mac := int(binary.NativeEndian.Uint16(s[slotMAC:]))
	f := Received{Data: s[mac : mac+int(binary.NativeEndian.Uint32(s[slotSnap:]))]}
	if p.gather.virtio {
		f.Checked = vouched(s[mac-virtioBytes:])
	}
	return f
}

func (p *packet) Release(n int) {
	for i := range n {
		atomic.StoreUint32(p.status(i), unix.TP_STATUS_KERNEL)
	}
	p.at = (p.at + n) % p.info.Ring
}

func (p *packet) Wait(d time.Duration) error { return readable(p.fd, d) }

func (p *packet) Send(packets []Packet) (int, error) {
	n, err := p.gather.send(p.fd, p.gather.fill(packets))
	switch {
	case err == nil:
		return n, nil
	case full(err):
		room(p.fd)
		return 0, nil
	case err == unix.ENETDOWN || err == unix.EMSGSIZE || err == unix.EINVAL:
		return 1, nil // a card, too, loses what its link can't carry
	}
	return 0, fmt.Errorf("sendmmsg on %s: %w", p.info.Name, err)
}

// Lost adds up what the kernel counts and forgets at each question.
func (p *packet) Lost() (uint64, error) {
	st, err := unix.GetsockoptTpacketStats(p.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return 0, fmt.Errorf("nic: %s: PACKET_STATISTICS: %w", p.info.Name, err)
	}
	return p.dropped.Add(uint64(st.Drops)), nil
}

func (p *packet) Close() error {
	if p.memory != nil {
		_ = unix.Munmap(p.memory) // the socket's close frees the ring all the same
	}
	return unix.Close(p.fd)
}

// readable waits for fd to have something to read, or for d.
func readable(fd int, d time.Duration) error {
	ts := unix.NsecToTimespec(int64(d))
	_, err := unix.Ppoll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, &ts, nil)
	if err != nil && err != unix.EINTR {
		return fmt.Errorf("poll: %w", err)
	}
	return nil
}
