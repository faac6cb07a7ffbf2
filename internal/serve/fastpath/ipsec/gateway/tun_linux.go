package gateway

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/segment"
)

// device is a TUN device that exchanges super-packets with the stack.
type device struct {
	name string
	fd   int
	in   []byte
	out  [segment.HeaderBytes]byte
	iovs []unix.Iovec
}

// openDevice makes the device. It goes when it is closed, with its routes.
func openDevice(name string) (*device, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) {
		return nil, fmt.Errorf("no /dev/net/tun (module tun): %w", errors.ErrUnsupported)
	}
	if err != nil {
		return nil, err
	}
	d := &device{name: name, fd: fd, in: make([]byte, segment.HeaderBytes+maxPacket)}
	if err := d.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("TUN %s (it needs CAP_NET_ADMIN): %w", name, err), unix.Close(fd))
	}
	return d, nil
}

func (d *device) open() error {
	req, err := unix.NewIfreq(d.name)
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(d.fd, unix.TUNSETIFF, req); err != nil {
		return err
	}
	d.name = req.Name()
	const (
		usable = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6
		newer  = 0x20 | 0x40 // TUN_F_USO4, TUN_F_USO6, since Linux 6.2
	)
	if unix.IoctlSetInt(d.fd, unix.TUNSETOFFLOAD, usable|newer) == nil {
		return nil
	}
	if err := unix.IoctlSetInt(d.fd, unix.TUNSETOFFLOAD, usable); err != nil {
		return fmt.Errorf("segmentation offload: %w", err)
	}
	return nil
}

func (d *device) close() error { return unix.Close(d.fd) }

// read reads a super-packet; ok is false when there is none now.
func (d *device) read() (h segment.Header, b []byte, ok bool, err error) {
	n, err := unix.Read(d.fd, d.in)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return h, nil, false, nil
	}
	if err != nil {
		return h, nil, false, fmt.Errorf("read %s: %w", d.name, err)
	}
	h, ok = segment.Parse(d.in[:n])
	return h, d.in[min(n, segment.HeaderBytes):n], ok, nil
}

// wait waits for something to read.
func (d *device) wait() (bool, error) { return wait(d.fd, unix.POLLIN) }

// write gives a super-packet to the stack. False means that the stack refused
// it.
func (d *device) write(g *segment.Group) (bool, error) {
	g.Header.Put(d.out[:])
	d.iovs = d.iovs[:0]
	d.part(d.out[:])
	for _, p := range g.Parts {
		d.part(p)
	}
	for {
		_, _, e := unix.Syscall(unix.SYS_WRITEV, uintptr(d.fd), uintptr(unsafe.Pointer(&d.iovs[0])), uintptr(len(d.iovs)))
		switch e {
		case 0:
			return true, nil
		case unix.EAGAIN, unix.EINTR:
			if _, err := wait(d.fd, unix.POLLOUT); err != nil {
				return false, err
			}
		case unix.EINVAL, unix.EIO:
			return false, nil // the device is down, or the stack dislikes the packet
		default:
			return false, fmt.Errorf("write %s: %w", d.name, e)
		}
	}
}

func (d *device) part(b []byte) {
	v := unix.Iovec{Base: &b[0]}
	v.SetLen(len(b))
	d.iovs = append(d.iovs, v)
}
