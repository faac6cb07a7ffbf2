package testnet

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The feature commands of SIOCETHTOOL (linux/ethtool.h), in the order in which
// they are set: scatter-gather needs checksums, segmentation needs both.
const (
	ethtoolRxCsum = 0x15
	ethtoolTxCsum = 0x17
	ethtoolSG     = 0x19
	ethtoolTSO    = 0x1f
	ethtoolGSO    = 0x24
	ethtoolGRO    = 0x2c
)

// SetOffload switches a set of offload features of one end.
func (e End) SetOffload(o Offload) error {
	if o == OffloadDefault {
		return nil
	}
	features := []struct {
		cmd uint32
		on  bool
	}{
		{ethtoolTxCsum, o != OffloadNone}, {ethtoolRxCsum, o != OffloadNone}, {ethtoolSG, o != OffloadNone},
		{ethtoolTSO, o == OffloadAll}, {ethtoolGSO, o == OffloadAll}, {ethtoolGRO, o == OffloadAll},
	}
	return e.Namespace.Do(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("testnet: %s: offload: %w", e.Interface, err)
		}
		defer unix.Close(fd)
		for _, f := range features {
			if err := setFeature(fd, e.Interface, f.cmd, f.on); err != nil {
				return fmt.Errorf("testnet: %s of %s: ethtool command %#x: %w", e.Interface, e.Namespace.Name, f.cmd, err)
			}
		}
		return nil
	})
}

// switchFeature switches one feature, inside the namespace.
func (e End) switchFeature(cmd uint32, on bool) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("testnet: %s: offload: %w", e.Interface, err)
	}
	defer unix.Close(fd)
	if err := setFeature(fd, e.Interface, cmd, on); err != nil {
		return fmt.Errorf("testnet: %s of %s: ethtool command %#x: %w", e.Interface, e.Namespace.Name, cmd, err)
	}
	return nil
}

// setFeature is struct ifreq with a struct ethtool_value behind its pointer.
func setFeature(fd int, name string, cmd uint32, on bool) error {
	value := struct{ cmd, data uint32 }{cmd: cmd}
	if on {
		value.data = 1
	}
	var req struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [24]byte // the union is 24 bytes at most
	}
	copy(req.name[:unix.IFNAMSIZ-1], name)
	req.data = unsafe.Pointer(&value)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req)))
	if errno != 0 {
		return errno
	}
	return nil
}
