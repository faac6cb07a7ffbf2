package port

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The ring: blocks are handed over when full, or after blockTimeout.
const (
	blockBytes   = 1 << 20
	blockCount   = 16
	frameBytes   = 2048
	blockTimeout = 20 * time.Millisecond
)

// tap is a packet socket with a TPACKET_V3 ring (packet(7)).
type tap struct {
	info    Info
	fd      int
	ring    []byte
	loop    bool // loopback: each frame passes twice
	block   int  // next block to read
	held    bool // the block is lent out
	left    int  // frames left in it
	next    int  // offset of the next frame in the ring
	dropped atomic.Uint64
}

// Listen captures on an interface, keeping snap bytes of each frame. It needs
// CAP_NET_RAW.
func Listen(name string, snap int) (Tap, error) { return listen(name, snap, false) }

// ListenIncoming is Listen without what this host sends. Older kernels than
// Linux 4.20 cannot tell, and refuse.
func ListenIncoming(name string, snap int) (Tap, error) { return listen(name, snap, true) }

func listen(name string, snap int, incoming bool) (Tap, error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("port: %s: %w", name, err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("port: packet socket on %s (it needs CAP_NET_RAW): %w", name, err)
	}
	t := &tap{fd: fd, loop: ifi.Flags&net.FlagLoopback != 0,
		info: Info{Name: name + ", AF_PACKET ring", Link: 1, MTU: ifi.MTU, Batch: batch}}
	if len(ifi.HardwareAddr) == 0 && !t.loop {
		t.info.Link = 101
	}
	if incoming {
		err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1)
	}
	if err == nil {
		err = t.open(ifi.Index, snap)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("port: capture on %s: %w", name, err)
	}
	return t, nil
}

func (t *tap) open(index, snap int) error {
	if err := unix.SetsockoptInt(t.fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return fmt.Errorf("TPACKET_V3: %w", err)
	}
	// A filter of one instruction keeps the first bytes of every frame.
	code := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: uint32(snap)}}
	prog := unix.SockFprog{Len: 1, Filter: &code[0]}
	if err := unix.SetsockoptSockFprog(t.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &prog); err != nil {
		return fmt.Errorf("snapshot length: %w", err)
	}
	// The kernel takes a VLAN tag out of the frame; this leaves room to put it back.
	if err := unix.SetsockoptInt(t.fd, unix.SOL_PACKET, unix.PACKET_RESERVE, tagBytes); err != nil {
		return fmt.Errorf("room for VLAN tags: %w", err)
	}
	req := unix.TpacketReq3{Block_size: blockBytes, Block_nr: blockCount, Frame_size: frameBytes,
		Frame_nr: blockBytes / frameBytes * blockCount, Retire_blk_tov: uint32(blockTimeout.Milliseconds())}
	if err := unix.SetsockoptTpacketReq3(t.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &req); err != nil {
		return fmt.Errorf("ring: %w", err)
	}
	var err error
	if t.ring, err = unix.Mmap(t.fd, 0, blockBytes*blockCount, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return fmt.Errorf("map the ring: %w", err)
	}
	// The protocol is in network order.
	all := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
	if err := unix.Bind(t.fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: index}); err != nil {
		unix.Munmap(t.ring)
		return fmt.Errorf("bind: %w", err)
	}
	return nil
}

func (t *tap) Info() Info { return t.info }

// header returns the current block's header; its status word belongs to the
// kernel until TP_STATUS_USER is set.
func (t *tap) header() *unix.TpacketHdrV1 {
	return (*unix.TpacketHdrV1)(unsafe.Pointer(&t.ring[t.block*blockBytes+8])) // after version and offset
}

func (t *tap) Recv(into []Frame) (int, error) {
	for n := 0; ; {
		if t.held && t.left == 0 {
			atomic.StoreUint32(&t.header().Block_status, unix.TP_STATUS_KERNEL)
			t.block, t.held = (t.block+1)%blockCount, false
		}
		if !t.held {
			h := t.header()
			if atomic.LoadUint32(&h.Block_status)&unix.TP_STATUS_USER == 0 {
				if err := t.wait(); err != nil {
					return 0, err
				}
				continue
			}
			t.held, t.left = true, int(h.Num_pkts)
			t.next = t.block*blockBytes + int(h.Offset_to_first_pkt)
		}
		for n < len(into) && t.left > 0 {
			if f, ok := t.frame(); ok {
				into[n] = f
				n++
			}
		}
		if n > 0 {
			return n, nil
		}
	}
}

// frame takes the next frame of the block held.
func (t *tap) frame() (Frame, bool) {
	at := t.next
	h := (*unix.Tpacket3Hdr)(unsafe.Pointer(&t.ring[at]))
	// The link layer address follows the header, aligned.
	const align = 16
	sll := (*unix.RawSockaddrLinklayer)(unsafe.Pointer(&t.ring[at+(int(unsafe.Sizeof(*h))+align-1)&^(align-1)]))
	t.left--
	t.next += int(h.Next_offset)
	if t.loop && sll.Pkttype == unix.PACKET_OUTGOING {
		return Frame{}, false
	}
	start, end, size := at+int(h.Mac), at+int(h.Mac)+int(h.Snaplen), int(h.Len)
	if h.Status&unix.TP_STATUS_VLAN_VALID != 0 && h.Snaplen >= addressBytes {
		start, size = start-tagBytes, size+tagBytes
		insertTag(t.ring[start:end], h.Hv1.Vlan_tpid, uint16(h.Hv1.Vlan_tci), h.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0)
	}
	return Frame{Data: t.ring[start:end:end], At: time.Unix(int64(h.Sec), int64(h.Nsec)), Len: size}, true
}

func (t *tap) wait() error {
	p := []unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, int(patience.Milliseconds()))
	switch {
	case errors.Is(err, unix.EINTR):
		return nil
	case err != nil:
		return fmt.Errorf("port: poll %s: %w", t.info.Name, err)
	case n == 0:
		return fmt.Errorf("port: %s: %w", t.info.Name, os.ErrDeadlineExceeded)
	case p[0].Revents&unix.POLLERR != 0:
		code, _ := unix.GetsockoptInt(t.fd, unix.SOL_SOCKET, unix.SO_ERROR)
		return fmt.Errorf("port: %s: %w", t.info.Name, unix.Errno(code))
	}
	return nil
}

func (t *tap) Send([]Frame) (int, error) {
	return 0, fmt.Errorf("port: send on a capture: %w", errors.ErrUnsupported)
}

// Dropped adds up what the kernel counts since the last call.
func (t *tap) Dropped() (uint64, error) {
	s, err := unix.GetsockoptTpacketStatsV3(t.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return 0, fmt.Errorf("port: statistics of %s: %w", t.info.Name, err)
	}
	return t.dropped.Add(uint64(s.Drops)), nil
}

func (t *tap) Close() error {
	return errors.Join(unix.Munmap(t.ring), unix.Close(t.fd))
}
