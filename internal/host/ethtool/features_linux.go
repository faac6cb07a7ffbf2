package ethtool

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/host/netlink"
)

func readFeatures(ifname string) (features, error) {
	have, err := query(unix.ETHTOOL_MSG_FEATURES_GET, unix.ETHTOOL_A_FEATURES_HEADER, ifname)
	if errors.Is(err, errors.ErrUnsupported) {
		if f, _, ioctlErr := featuresIoctl(ifname); ioctlErr == nil {
			return f, nil
		}
	}
	if err != nil {
		return features{}, err
	}
	order := binary.NativeEndian
	f := features{}
	f.names, f.changeable = parseBitset(have[unix.ETHTOOL_A_FEATURES_HW], order)
	_, f.wanted = parseBitset(have[unix.ETHTOOL_A_FEATURES_WANTED], order)
	_, f.active = parseBitset(have[unix.ETHTOOL_A_FEATURES_ACTIVE], order)
	_, never := parseBitset(have[unix.ETHTOOL_A_FEATURES_NOCHANGE], order)
	for name := range never {
		delete(f.changeable, name)
	}
	return f, nil
}

func writeFeatures(ifname string, as []assignment) error {
	f, err := readFeatures(ifname)
	if err != nil {
		return err
	}
	want, err := f.want(as)
	if err != nil || len(want) == 0 {
		return err
	}
	var attrs netlink.Attrs
	attrs.Nest(unix.ETHTOOL_A_FEATURES_WANTED, func(a *netlink.Attrs) {
		a.Nest(bitsetBits, func(a *netlink.Attrs) {
			for name, on := range want {
				a.Nest(bitsetBit, func(a *netlink.Attrs) {
					a.String(bitName, name)
					if on {
						a.Flag(bitValue)
					}
				})
			}
		})
	})
	err = command(unix.ETHTOOL_MSG_FEATURES_SET, unix.ETHTOOL_A_FEATURES_HEADER, ifname, attrs)
	if errors.Is(err, errors.ErrUnsupported) {
		if setFeaturesIoctl(ifname, want) == nil {
			return nil
		}
	}
	return err
}

// featuresIoctl reads struct ethtool_gfeatures: blocks of 32 features with the
// words available, requested, active, never_changed. blocks is their number.
func featuresIoctl(ifname string) (f features, blocks int, err error) {
	names, err := stringSet(ifname, setFeatures)
	if err != nil {
		return features{}, 0, err
	}
	blocks = (len(names) + 31) / 32
	order := binary.NativeEndian
	b := make([]byte, 8+16*blocks)
	order.PutUint32(b[4:], uint32(blocks))
	if err := ioctl(ifname, gFeatures, b); err != nil {
		return features{}, 0, err
	}
	f = features{active: map[string]bool{}, wanted: map[string]bool{}, changeable: map[string]bool{}}
	for i, name := range names {
		if name == "" {
			continue
		}
		f.names = append(f.names, name)
		bit := func(word int) bool { return order.Uint32(b[8+16*(i/32)+4*word:])>>(i%32)&1 == 1 }
		f.changeable[name], f.wanted[name], f.active[name] = bit(0) && !bit(3), bit(1), bit(2)
	}
	return f, blocks, nil
}

// setFeaturesIoctl writes struct ethtool_sfeatures: the words valid and
// requested for each block of 32.
func setFeaturesIoctl(ifname string, want map[string]bool) error {
	names, err := stringSet(ifname, setFeatures)
	if err != nil {
		return err
	}
	order := binary.NativeEndian
	blocks := (len(names) + 31) / 32
	b := make([]byte, 8+8*blocks)
	order.PutUint32(b[4:], uint32(blocks))
	for i, name := range names {
		on, ok := want[name]
		if !ok {
			continue
		}
		valid := b[8+8*(i/32):]
		order.PutUint32(valid, order.Uint32(valid)|1<<(i%32))
		if on {
			requested := valid[4:]
			order.PutUint32(requested, order.Uint32(requested)|1<<(i%32))
		}
	}
	return ioctl(ifname, sFeatures, b)
}
