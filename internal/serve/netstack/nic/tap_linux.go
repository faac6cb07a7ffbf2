package nic

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// tap is a wire on a TAP device: the kernel's end of it is a network interface
// that a bridge, a route or a QEMU guest can use.
type tap struct {
	info   Info
	fd     int
	slots  [][]byte
	frames []Received // of the slots, from the oldest on
	at     int        // the oldest
	gather gather
}

// OpenTap returns a wire on the TAP device of that name, which it makes if
// there is none; it needs CAP_NET_ADMIN. The device goes with the wire unless
// it was made persistent before.
func OpenTap(name string, o Options) (Wire, error) {
	o = o.orDefault()
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("nic: /dev/net/tun: %w", err)
	}
	t := &tap{fd: fd, gather: gather{virtio: o.Offload}, info: Info{Name: name + ", TAP", Ring: o.Ring, Checksum: o.Offload, Segment: o.Offload}}
	size := 1 << 14
	if err := t.open(name, o); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("nic: tap %s (it needs CAP_NET_ADMIN): %w", name, err)
	}
	if o.Offload {
		size = 1 << 17
	}
	t.slots = make([][]byte, o.Ring)
	for i := range t.slots {
		t.slots[i] = make([]byte, size)
	}
	t.frames = make([]Received, 0, o.Ring)
	return t, nil
}

func (t *tap) open(name string, o Options) error {
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	flags := uint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if o.Offload {
		flags |= unix.IFF_VNET_HDR
	}
	ifr.SetUint16(flags)
	if err := unix.IoctlIfreq(t.fd, unix.TUNSETIFF, ifr); err != nil {
		return fmt.Errorf("TUNSETIFF: %w", err)
	}
	if err := setQueue(name, o.Ring); err != nil {
		return fmt.Errorf("a queue of %d frames: %w", o.Ring, err)
	}
	if !o.Offload {
		return nil
	}
	if err := unix.IoctlSetPointerInt(t.fd, unix.TUNSETVNETHDRSZ, virtioBytes); err != nil {
		return fmt.Errorf("TUNSETVNETHDRSZ: %w", err)
	}
	if err := unix.IoctlSetInt(t.fd, unix.TUNSETOFFLOAD, unix.TUN_F_CSUM|unix.TUN_F_TSO4|unix.TUN_F_TSO6); err != nil {
		return fmt.Errorf("TUNSETOFFLOAD: %w", err)
	}
	return nil
}

// setQueue makes the device's queue n frames long.
func setQueue(name string, n int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	ifr.SetUint32(uint32(n))
	return unix.IoctlIfreq(fd, unix.SIOCSIFTXQLEN, ifr)
}

func (t *tap) Info() Info { return t.info }

// Filled moves what waits in the device into free slots. The device's own
// queue, as long as the ring, takes what comes between two looks.
func (t *tap) Filled() (int, error) {
	for len(t.frames) < len(t.slots) {
		slot := t.slots[(t.at+len(t.frames))%len(t.slots)]
		n, err := unix.Read(t.fd, slot)
		switch {
		case err == unix.EAGAIN || err == unix.EINTR:
			return len(t.frames), nil
		case err != nil:
			return 0, fmt.Errorf("read %s: %w", t.info.Name, err)
		}
		f := Received{Data: slot[:n]}
		if t.gather.virtio {
			if n < virtioBytes {
				continue
			}
			f = Received{Data: slot[virtioBytes:n], Checked: vouched(slot)}
		}
		t.frames = append(t.frames, f)
	}
	return len(t.frames), nil
}

func (t *tap) Frame(i int) Received { return t.frames[i] }

func (t *tap) Release(n int) {
	t.at = (t.at + n) % len(t.slots)
	t.frames = t.frames[:copy(t.frames, t.frames[n:])]
}

func (t *tap) Wait(d time.Duration) error { return readable(t.fd, d) }

func (t *tap) Send(packets []Packet) (int, error) {
	n := t.gather.fill(packets)
	for i := range n {
		switch err := t.gather.write(t.fd, i); {
		case err == nil || err == unix.EIO || err == unix.EINVAL: // lost: the interface is down, or takes no such frame
		case full(err):
			room(t.fd)
			return i, nil
		default:
			return i, fmt.Errorf("write %s: %w", t.info.Name, err)
		}
	}
	return n, nil
}

// Lost is not told to this end: the interface counts it.
func (t *tap) Lost() (uint64, error) {
	return 0, fmt.Errorf("nic: %s: frames lost in its queue are tx_dropped of the interface: %w", t.info.Name, errors.ErrUnsupported)
}

func (t *tap) Close() error { return unix.Close(t.fd) }
