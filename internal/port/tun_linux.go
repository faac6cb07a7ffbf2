package port

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// tun is a Port on a TUN or TAP device: what the stack of this host sends
// there, Recv returns; what Send takes, the stack receives.
type tun struct {
	info Info
	fd   int
	mem  []byte // receive buffers, one behind the other
}

// OpenTAP makes a device of Ethernet frames, or opens one that is there, and
// brings it up. A device made here is gone with the Port. It needs
// CAP_NET_ADMIN, and wraps errors.ErrUnsupported where the kernel has none.
func OpenTAP(name string) (Port, error) { return openTun(name, "TAP", unix.IFF_TAP, 1) }

// OpenTUN is OpenTAP for bare IP packets.
func OpenTUN(name string) (Port, error) { return openTun(name, "TUN", unix.IFF_TUN, 101) }

func openTun(name, kind string, flag uint16, link uint16) (Port, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) {
		return nil, fmt.Errorf("port: %s %s: no /dev/net/tun (module tun): %w", kind, name, errors.ErrUnsupported)
	}
	if err != nil {
		return nil, fmt.Errorf("port: %s %s: /dev/net/tun: %w", kind, name, err)
	}
	t := &tun{fd: fd}
	if err := t.open(name, flag|unix.IFF_NO_PI); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("port: %s %s (it needs CAP_NET_ADMIN): %w", kind, name, err)
	}
	t.info.Name, t.info.Link = name+", "+kind, link
	return t, nil
}

func (t *tun) open(name string, flags uint16) error {
	req, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	req.SetUint16(flags)
	if err := unix.IoctlIfreq(t.fd, unix.TUNSETIFF, req); err != nil {
		return err
	}
	if err := bringUp(name); err != nil {
		return err
	}
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	t.info.MTU, t.info.Batch = ifi.MTU, batch
	t.mem = make([]byte, batch*t.slot())
	return nil
}

// bringUp sets the interface up.
func bringUp(name string) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	req, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(s, unix.SIOCGIFFLAGS, req); err != nil {
		return fmt.Errorf("flags: %w", err)
	}
	req.SetUint16(req.Uint16() | unix.IFF_UP)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("bring up: %w", err)
	}
	return nil
}

// slot is the room for one frame: with Ethernet header and VLAN tags.
func (t *tun) slot() int { return t.info.MTU + 64 }

func (t *tun) Info() Info { return t.info }

func (t *tun) Recv(into []Frame) (int, error) {
	for {
		n := 0
		for n < min(len(into), batch) {
			b := t.mem[n*t.slot() : (n+1)*t.slot()]
			got, err := unix.Read(t.fd, b)
			if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
				break
			}
			if err != nil {
				return n, fmt.Errorf("port: receive on %s: %w", t.info.Name, err)
			}
			into[n] = Frame{Data: b[:got:got], At: time.Now(), Len: got}
			n++
		}
		if n > 0 {
			return n, nil
		}
		p := []unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(p, int(patience.Milliseconds())); err == nil && n == 0 {
			return 0, fmt.Errorf("port: %s: %w", t.info.Name, os.ErrDeadlineExceeded)
		} else if err != nil && !errors.Is(err, unix.EINTR) {
			return 0, fmt.Errorf("port: poll %s: %w", t.info.Name, err)
		}
	}
}

func (t *tun) Send(frames []Frame) (int, error) {
	for i, f := range frames[:min(len(frames), batch)] {
		_, err := unix.Write(t.fd, f.Data)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOBUFS):
			return i, nil
		case err != nil:
			return i, fmt.Errorf("port: send on %s: %w", t.info.Name, err)
		}
	}
	return min(len(frames), batch), nil
}

func (t *tun) Close() error { return unix.Close(t.fd) }
