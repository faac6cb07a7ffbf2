package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/host/netlink"
)

// links is the tree below link/: what rtnetlink says of each interface of the
// reading thread's namespace, one value a file.
type links struct{}

// linkAttr is one file below link/<if>/.
type linkAttr struct {
	name string
	typ  uint16
	set  bool // it can be written
	show func([]byte) string
}

func linkAttrs() []linkAttr {
	return []linkAttr{
		{"stats64", unix.IFLA_STATS64, false, showStats64},
		{"mtu", unix.IFLA_MTU, true, showUint},
		{"min_mtu", unix.IFLA_MIN_MTU, false, showUint},
		{"max_mtu", unix.IFLA_MAX_MTU, false, showUint},
		{"tx_queue_len", unix.IFLA_TXQLEN, true, showUint},
		{"gso_max_size", unix.IFLA_GSO_MAX_SIZE, true, showUint},
		{"gro_max_size", unix.IFLA_GRO_MAX_SIZE, true, showUint},
		{"num_rx_queues", unix.IFLA_NUM_RX_QUEUES, false, showUint},
		{"num_tx_queues", unix.IFLA_NUM_TX_QUEUES, false, showUint},
		{"carrier", unix.IFLA_CARRIER, false, showUint},
		{"address", unix.IFLA_ADDRESS, false, func(b []byte) string { return net.HardwareAddr(b).String() }},
		{"qdisc", unix.IFLA_QDISC, false, netlink.String},
		{"operstate", unix.IFLA_OPERSTATE, false, showOperState},
		{"kind", unix.IFLA_LINKINFO, false, showKind},
	}
}

func showUint(b []byte) string {
	v, _ := netlink.Uint(b, binary.NativeEndian)
	return strconv.FormatUint(v, 10)
}

// showOperState names a state of RFC 2863 3.1.14 (ifOperStatus).
func showOperState(b []byte) string {
	states := []string{"unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up"}
	if v, ok := netlink.Uint(b, binary.NativeEndian); ok && v < uint64(len(states)) {
		return states[v]
	}
	return "unknown"
}

// showKind is the kind of a virtual device: veth, bridge, vlan.
func showKind(b []byte) string {
	for typ, v := range netlink.Attributes(b, binary.NativeEndian) {
		if typ == unix.IFLA_INFO_KIND {
			return netlink.String(v)
		}
	}
	return ""
}

// showStats64 writes struct rtnl_link_stats64 with the names of
// sys/class/net/<if>/statistics.
func showStats64(b []byte) string {
	var out strings.Builder
	for i, name := range LinkCounters() {
		if len(b) < 8*(i+1) {
			break
		}
		fmt.Fprintf(&out, "%s %d\n", name, binary.NativeEndian.Uint64(b[8*i:]))
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func (links) open(rest string) (fs.File, error) {
	ifname, attr, leaf := strings.Cut(rest, "/")
	if rest == "" {
		return listLinks("link")
	}
	msgs, err := linkRequest(unix.RTM_GETLINK, ifname, nil)
	if err != nil {
		return nil, err
	}
	have := map[uint16][]byte{}
	for _, m := range msgs {
		for typ, v := range netlink.Attributes(m.Data[min(len(m.Data), unix.SizeofIfInfomsg):], binary.NativeEndian) {
			have[typ] = v
		}
	}
	if leaf && attr == "xdp_features" && len(msgs) > 0 && len(msgs[0].Data) >= unix.SizeofIfInfomsg {
		text, err := xdpFeatures(binary.NativeEndian.Uint32(msgs[0].Data[4:]))
		return file(rest, []byte(text)), err
	}
	names := []string{"xdp_features"}
	for _, a := range linkAttrs() {
		v, ok := have[a.typ]
		switch {
		case !ok:
		case leaf && a.name == attr:
			return file(rest, []byte(a.show(v)+"\n")), nil
		default:
			names = append(names, a.name)
		}
	}
	if leaf {
		return nil, fs.ErrNotExist
	}
	return dir(ifname, entries(names...)), nil
}

// xdpFeatures asks the netdev family (since Linux 6.3) what XDP a driver does,
// under the names of its specification (netlink/specs/netdev.yaml).
func xdpFeatures(ifindex uint32) (string, error) {
	const devGet, attrIndex, attrFeatures = 1, 1, 3
	var ask netlink.Attrs
	ask.Uint32(attrIndex, ifindex)
	msgs, err := netlink.Generic("netdev", devGet, ask)
	if err != nil {
		return "", err
	}
	var out []string
	for _, m := range msgs {
		for typ, v := range netlink.Attributes(m.Data, binary.NativeEndian) {
			bits, _ := netlink.Uint(v, binary.NativeEndian)
			for i, name := range []string{"basic", "redirect", "ndo-xmit", "xsk-zerocopy", "hw-offload", "rx-sg", "ndo-xmit-sg"} {
				if typ == attrFeatures && bits>>i&1 == 1 {
					out = append(out, name)
				}
			}
		}
	}
	return strings.Join(out, " ") + "\n", nil
}

func (links) write(rest, value string) error {
	ifname, attr, _ := strings.Cut(rest, "/")
	for _, a := range linkAttrs() {
		if a.name != attr || !a.set {
			continue
		}
		v, err := strconv.ParseUint(strings.TrimSpace(value), 10, 32)
		if err != nil {
			return fmt.Errorf("%q: want a number", value)
		}
		var set netlink.Attrs
		set.Uint32(a.typ, uint32(v))
		_, err = linkRequest(unix.RTM_NEWLINK, ifname, set)
		return err
	}
	return fmt.Errorf("not a setting: %w", ErrUnsupported)
}

// linkRequest sends one rtnetlink request about an interface (RFC 3549 3.1).
func linkRequest(typ uint16, ifname string, attrs netlink.Attrs) ([]netlink.Message, error) {
	c, err := netlink.Dial(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	body := netlink.Attrs(make([]byte, unix.SizeofIfInfomsg))
	body.String(unix.IFLA_IFNAME, ifname)
	msgs, err := c.Request(typ, 0, append(body, attrs...))
	if errors.Is(err, unix.ENODEV) {
		return nil, fmt.Errorf("no interface %s in this network namespace: %w", ifname, fs.ErrNotExist)
	}
	return msgs, err
}

// linkNames lists the interfaces of the reading thread's namespace.
func linkNames() ([]string, error) {
	c, err := netlink.Dial(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	msgs, err := c.Request(unix.RTM_GETLINK, unix.NLM_F_DUMP, make([]byte, unix.SizeofIfInfomsg))
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	var names []string
	for _, m := range msgs {
		for typ, v := range netlink.Attributes(m.Data[min(len(m.Data), unix.SizeofIfInfomsg):], binary.NativeEndian) {
			if typ == unix.IFLA_IFNAME {
				names = append(names, netlink.String(v))
			}
		}
	}
	return names, nil
}

// listLinks opens a directory with one directory for each interface.
func listLinks(name string) (fs.File, error) {
	names, err := linkNames()
	if err != nil {
		return nil, err
	}
	for i := range names {
		names[i] += "/"
	}
	return dir(name, entries(names...)), nil
}
