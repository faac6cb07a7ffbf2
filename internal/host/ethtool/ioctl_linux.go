package ethtool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ifreq is struct ifreq with a pointer in its union, 40 bytes on 64-bit
// machines and 32 on others.
type ifreq struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [8 + unsafe.Sizeof(uintptr(0))]byte
}

// ioctl runs SIOCETHTOOL with a structure that begins with its command.
func ioctl(ifname string, cmd uint32, structure []byte) error {
	if len(ifname) >= unix.IFNAMSIZ {
		return fmt.Errorf("interface name %q: %w", ifname, fs.ErrInvalid)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	binary.NativeEndian.PutUint32(structure, cmd)
	// The kernel follows the pointer, so the memory must stay where it is.
	var pin runtime.Pinner
	pin.Pin(&structure[0])
	defer pin.Unpin()
	req := ifreq{data: unsafe.Pointer(&structure[0])}
	copy(req.name[:], ifname)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req))); errno != 0 {
		return os.NewSyscallError("ioctl(SIOCETHTOOL)", errno)
	}
	return nil
}

func (g group) words32(ifname string) ([]byte, error) {
	if g.words == 0 {
		return nil, errors.ErrUnsupported
	}
	b := make([]byte, 4*g.words)
	return b, ioctl(ifname, g.ioctlGet, b)
}

func (g group) readIoctl(ifname string) (string, error) {
	b, err := g.words32(ifname)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, f := range g.fields {
		if f.word > 0 {
			fmt.Fprintf(&out, "%s: %s\n", f.key, f.kind.show(uint64(binary.NativeEndian.Uint32(b[4*f.word:]))))
		}
	}
	return out.String(), nil
}

// writeIoctl reads the structure, changes its words and writes all of it, as
// this interface wants.
func (g group) writeIoctl(ifname string, cs []change) error {
	b, err := g.words32(ifname)
	if err != nil {
		return err
	}
	for _, c := range cs {
		if c.word == 0 {
			return fmt.Errorf("%s: not through ioctl: %w", c.key, errors.ErrUnsupported)
		}
		binary.NativeEndian.PutUint32(b[4*c.word:], c.n)
	}
	return ioctl(ifname, g.ioctlSet, b)
}

// String sets of the ioctl interface (enum ethtool_stringset).
const (
	setStats    = 1
	setFeatures = 4
	stringLen   = 32
	maxStrings  = 1 << 16
)

// stringSet returns the names in one of an interface's sets.
func stringSet(ifname string, set uint32) ([]string, error) {
	info := make([]byte, 4+4+8+4) // struct ethtool_sset_info
	binary.NativeEndian.PutUint64(info[8:], 1<<set)
	if err := ioctl(ifname, gSSetInfo, info); err != nil {
		return nil, err
	}
	n := int(binary.NativeEndian.Uint32(info[16:]))
	if binary.NativeEndian.Uint64(info[8:]) == 0 || n > maxStrings {
		return nil, nil
	}
	b := make([]byte, 12+stringLen*n) // struct ethtool_gstrings
	binary.NativeEndian.PutUint32(b[4:], set)
	binary.NativeEndian.PutUint32(b[8:], uint32(n))
	if err := ioctl(ifname, gStrings, b); err != nil {
		return nil, err
	}
	var names []string
	for i := range min(n, int(binary.NativeEndian.Uint32(b[8:]))) {
		name, _, _ := strings.Cut(string(b[12+stringLen*i:12+stringLen*(i+1)]), "\x00")
		names = append(names, strings.TrimSpace(name))
	}
	return names, nil
}

// readStats returns the driver's own statistics (ethtool -S), which only ioctl
// has.
func readStats(ifname string) (string, error) {
	names, err := stringSet(ifname, setStats)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", fmt.Errorf("the driver keeps no statistics: %w", errors.ErrUnsupported)
	}
	b := make([]byte, 8+8*len(names)) // struct ethtool_stats
	binary.NativeEndian.PutUint32(b[4:], uint32(len(names)))
	if err := ioctl(ifname, gStats, b); err != nil {
		return "", err
	}
	var out strings.Builder
	for i, name := range names {
		fmt.Fprintf(&out, "%s: %d\n", name, binary.NativeEndian.Uint64(b[8+8*i:]))
	}
	return out.String(), nil
}

func readDriver(ifname string) (string, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	d, err := unix.IoctlGetEthtoolDrvinfo(fd, ifname)
	if err != nil {
		return "", os.NewSyscallError("ioctl(ETHTOOL_GDRVINFO)", err)
	}
	var out strings.Builder
	for _, kv := range []struct {
		key string
		v   []byte
	}{{"driver", d.Driver[:]}, {"version", d.Version[:]}, {"firmware-version", d.Fw_version[:]}, {"bus-info", d.Bus_info[:]}} {
		if v := unix.ByteSliceToString(kv.v); v != "" {
			fmt.Fprintf(&out, "%s: %s\n", kv.key, v)
		}
	}
	return out.String(), nil
}
