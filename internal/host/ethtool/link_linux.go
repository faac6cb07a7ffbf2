package ethtool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/host/netlink"
)

// linkGroup is speed, duplex and autonegotiation, which LINKMODES_SET changes.
func linkGroup() group {
	return group{
		name: "link", get: unix.ETHTOOL_MSG_LINKMODES_GET, set: unix.ETHTOOL_MSG_LINKMODES_SET, header: unix.ETHTOOL_A_LINKMODES_HEADER,
		fields: []field{
			{"speed", unix.ETHTOOL_A_LINKMODES_SPEED, 0, number, true}, // Mbit/s
			{"duplex", unix.ETHTOOL_A_LINKMODES_DUPLEX, 0, duplex, true},
			{"autoneg", unix.ETHTOOL_A_LINKMODES_AUTONEG, 0, onOff, true},
			{"lanes", unix.ETHTOOL_A_LINKMODES_LANES, 0, number, true},
		},
	}
}

// readLink tells the state of the link and what both ends can do.
func readLink(ifname string) (string, error) {
	g := linkGroup()
	order := binary.NativeEndian
	// A virtual device may have no speed, and yet a state.
	modes, err := query(g.get, g.header, ifname)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return "", err
	}
	var out strings.Builder
	for _, f := range g.fields {
		v, ok := modes[f.attr]
		if !ok {
			continue
		}
		n, _ := netlink.Uint(v, order)
		text := f.kind.show(n)
		if f.key == "speed" && n == math.MaxUint32 {
			text = "unknown" // SPEED_UNKNOWN: no link
		}
		fmt.Fprintf(&out, "%s: %s\n", f.key, text)
	}
	if state, err := query(unix.ETHTOOL_MSG_LINKSTATE_GET, unix.ETHTOOL_A_LINKSTATE_HEADER, ifname); err == nil {
		for _, f := range []field{
			{"link", unix.ETHTOOL_A_LINKSTATE_LINK, 0, onOff, false},
			{"sqi", unix.ETHTOOL_A_LINKSTATE_SQI, 0, number, false},
			{"downs", unix.ETHTOOL_A_LINKSTATE_EXT_DOWN_CNT, 0, number, false},
		} {
			if n, ok := netlink.Uint(state[f.attr], order); ok {
				fmt.Fprintf(&out, "%s: %s\n", f.key, f.kind.show(n))
			}
		}
	}
	if info, err := query(unix.ETHTOOL_MSG_LINKINFO_GET, unix.ETHTOOL_A_LINKINFO_HEADER, ifname); err == nil {
		if n, ok := netlink.Uint(info[unix.ETHTOOL_A_LINKINFO_PORT], order); ok && portName(n) != "" {
			fmt.Fprintf(&out, "port: %s\n", portName(n))
		}
	}
	if out.Len() == 0 {
		return "", err
	}
	supported, ours := parseBitset(modes[unix.ETHTOOL_A_LINKMODES_OURS], order)
	_, peer := parseBitset(modes[unix.ETHTOOL_A_LINKMODES_PEER], order)
	for _, l := range []struct {
		key  string
		have func(string) bool
	}{
		{"supported", func(string) bool { return true }},
		{"advertised", func(m string) bool { return ours[m] }},
		{"peer", func(m string) bool { return peer[m] }},
	} {
		var list []string
		for _, m := range supported {
			if l.have(m) {
				list = append(list, m)
			}
		}
		if len(list) > 0 {
			fmt.Fprintf(&out, "%s: %s\n", l.key, strings.Join(list, " "))
		}
	}
	return out.String(), nil
}

// portName names a connector (PORT_* of linux/ethtool.h); "" where there is
// none or an unheard-of one.
func portName(n uint64) string {
	names := []string{"tp", "aui", "mii", "fibre", "bnc", "da"}
	if n < uint64(len(names)) {
		return names[n]
	}
	return ""
}

func writeLink(ifname string, as []assignment) error { return linkGroup().write(ifname, as) }
