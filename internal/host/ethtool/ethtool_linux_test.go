package ethtool

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/testnet"
)

// inside runs f in a namespace with a veth "eth0" and a TAP "tap0".
func inside(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	link := testnet.NewPair(t, testnet.LinkOptions{})
	err := link.A.Namespace.Do(func() error {
		tap, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
		if err != nil {
			testnet.Missing(t, "no /dev/net/tun to make a TAP with: %v", err)
		}
		defer tap.Close()
		ifr, err := unix.NewIfreq("tap0")
		if err != nil {
			return err
		}
		ifr.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		if err := unix.IoctlIfreq(int(tap.Fd()), unix.TUNSETIFF, ifr); err != nil {
			return err
		}
		f(t)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWrite turns settings that a virtual driver really has.
func TestWrite(t *testing.T) {
	inside(t, func(t *testing.T) {
		for _, c := range []struct{ ifname, file, key, value string }{
			{"tap0", "coalesce", "rx-frames", "16"},
			{"eth0", "features", "tso", "off"},
			{"eth0", "features", "tx-tcp-segmentation", "on"},
			{"eth0", "features", "gro", "on"},
			{"eth0", "channels", "rx", "1"},
		} {
			if err := Write(c.ifname, c.file, c.key+": "+c.value+"\n"); err != nil {
				t.Errorf("%s %s %s %s: %v", c.ifname, c.file, c.key, c.value, err)
				continue
			}
			text, err := Read(c.ifname, c.file)
			if got, _ := value(text, c.key); err != nil || got != c.value {
				t.Errorf("%s %s %s: reads back %q, %v; want %s", c.ifname, c.file, c.key, got, err, c.value)
			}
		}
	})
}

// TestRefusals wants a setting that the driver lacks refused with the reason,
// and nothing changed.
func TestRefusals(t *testing.T) {
	inside(t, func(t *testing.T) {
		for _, c := range []struct {
			ifname, file, text string
			is                 error
		}{
			{"eth0", "rings", "rx: 64", errors.ErrUnsupported},
			{"eth0", "coalesce", "rx-usecs: 50", errors.ErrUnsupported},
			{"eth0", "pause", "rx: on", errors.ErrUnsupported},
			{"tap0", "coalesce", "rx-usecs: 50", unix.EINVAL},
			{"eth0", "features", "vlan-challenged: on", ErrUnchanged},
			{"eth0", "features", "ntuple: on", ErrUnchanged},
			{"eth0", "features", "warp: on", nil},
			{"eth0", "channels", "rx: 99999", unix.EINVAL},
			{"eth0", "channels", "rx: many", nil},
			{"eth0", "channels", "rx-max: 9", nil},
			{"eth0", "channels", "", nil},
			{"eth0", "stats", "rx_drops: 0", errors.ErrUnsupported},
			{"eth9", "rings", "rx: 64", fs.ErrNotExist},
		} {
			err := Write(c.ifname, c.file, c.text)
			if err == nil || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%s %s %q: %v, want %v", c.ifname, c.file, c.text, err, c.is)
			}
		}
		// Linux words its refusal; the reader should get to see that.
		if err := Write("eth0", "channels", "rx: 99999"); err == nil || !strings.Contains(err.Error(), "exceed") {
			t.Errorf("the kernel's reason is missing: %v", err)
		}
	})
}

// TestIoctlAgrees reads and writes through the interface of kernels before 5.6
// and compares with netlink.
func TestIoctlAgrees(t *testing.T) {
	inside(t, func(t *testing.T) {
		for _, c := range []struct {
			ifname string
			group  group
			keys   []string
		}{
			{"eth0", channels(), []string{"rx", "tx", "rx-max", "tx-max"}},
			{"tap0", coalesce(), []string{"rx-frames"}},
		} {
			if c.group.name == "coalesce" {
				f, _ := c.group.field("rx-frames")
				if err := c.group.writeIoctl(c.ifname, []change{{f, 8}}); err != nil {
					t.Error(err)
				}
			}
			old, err := c.group.readIoctl(c.ifname)
			if err != nil {
				t.Fatal(err)
			}
			now, err := c.group.readNetlink(c.ifname)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range c.keys {
				a, _ := value(old, k)
				b, ok := value(now, k)
				if a != b || !ok {
					t.Errorf("%s %s %s: ioctl %q, netlink %q", c.ifname, c.group.name, k, a, b)
				}
			}
		}
		if err := setFeaturesIoctl("eth0", map[string]bool{"rx-gro": true, "tx-tcp-segmentation": false}); err != nil {
			t.Fatal(err)
		}
		old, _, err := featuresIoctl("eth0")
		if err != nil {
			t.Fatal(err)
		}
		now, err := readFeatures("eth0")
		if err != nil {
			t.Fatal(err)
		}
		if old.text() != now.text() {
			t.Errorf("features: ioctl\n%s\nnetlink\n%s", old.text(), now.text())
		}
		if now.active["tx-tcp-segmentation"] || !now.active["rx-gro"] {
			t.Error("features not set through ioctl")
		}
	})
}

func TestReadEveryFile(t *testing.T) {
	inside(t, func(t *testing.T) {
		for _, name := range Files() {
			text, err := Read("eth0", name)
			if err != nil && !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s: %v", name, err)
			}
			for line := range strings.Lines(text) {
				if k, v, ok := strings.Cut(line, ": "); !ok || k == "" || strings.TrimSpace(v) == "" {
					t.Errorf("%s: line %q", name, line)
				}
			}
		}
	})
}
