package ethtool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/host/netlink"
)

// Files lists the files that an interface has.
func Files() []string {
	return []string{"channels", "coalesce", "driver", "eee", "features", "link", "pause", "rings", "stats"}
}

// Read returns a file of an interface of the calling thread's network
// namespace. Where driver or kernel lacks it the error wraps
// errors.ErrUnsupported.
func Read(ifname, name string) (string, error) {
	switch name {
	case "features":
		f, err := readFeatures(ifname)
		return f.text(), err
	case "link":
		return readLink(ifname)
	case "stats":
		return readStats(ifname)
	case "driver":
		return readDriver(ifname)
	}
	for _, g := range groups() {
		if g.name == name {
			return g.read(ifname)
		}
	}
	return "", fs.ErrNotExist
}

// Write changes the keys in text, "key: value" lines, and reads them back. A
// driver that takes a change without effect gives an error that wraps
// ErrUnchanged.
func Write(ifname, name, text string) error {
	as, err := parseAssignments(text)
	if err != nil {
		return err
	}
	set, ok := map[string]func(string, []assignment) error{"features": writeFeatures, "link": writeLink}[name]
	if !ok {
		for _, g := range groups() {
			if g.name == name {
				set, ok = g.write, true
			}
		}
	}
	if !ok {
		return fmt.Errorf("not a setting: %w", errors.ErrUnsupported)
	}
	if err := set(ifname, as); err != nil {
		return err
	}
	now, err := Read(ifname, name)
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	return verify(now, as)
}

func (g group) read(ifname string) (string, error) {
	text, err := g.readNetlink(ifname)
	if errors.Is(err, errors.ErrUnsupported) {
		if old, ioctlErr := g.readIoctl(ifname); ioctlErr == nil {
			return old, nil
		}
	}
	return text, err
}

func (g group) readNetlink(ifname string) (string, error) {
	have, err := query(g.get, g.header, ifname)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, f := range g.fields {
		if v, ok := have[f.attr]; ok {
			n, _ := netlink.Uint(v, binary.NativeEndian)
			fmt.Fprintf(&out, "%s: %s\n", f.key, f.kind.show(n))
		}
	}
	return out.String(), nil
}

// write asks for all changes in one message, so that the driver takes them
// together or refuses them together.
func (g group) write(ifname string, as []assignment) error {
	cs, err := g.changes(as)
	if err != nil {
		return err
	}
	var attrs netlink.Attrs
	for _, c := range cs {
		if c.kind.oneByte() {
			attrs.Uint8(c.attr, uint8(c.n))
		} else {
			attrs.Uint32(c.attr, c.n)
		}
	}
	err = command(g.set, g.header, ifname, attrs)
	if errors.Is(err, errors.ErrUnsupported) {
		if g.writeIoctl(ifname, cs) == nil {
			return nil
		}
	}
	return err
}

// query sends a GET request and returns the attributes of its answer.
func query(cmd uint8, header uint16, ifname string) (map[uint16][]byte, error) {
	msgs, err := request(cmd, header, ifname, nil)
	if err != nil {
		return nil, err
	}
	have := map[uint16][]byte{}
	for _, m := range msgs {
		for typ, v := range netlink.Attributes(m.Data, binary.NativeEndian) {
			have[typ] = v
		}
	}
	return have, nil
}

// command sends a SET request.
func command(cmd uint8, header uint16, ifname string, attrs netlink.Attrs) error {
	_, err := request(cmd, header, ifname, attrs)
	return err
}

func request(cmd uint8, header uint16, ifname string, attrs netlink.Attrs) ([]netlink.Message, error) {
	var body netlink.Attrs
	body.Nest(header, func(a *netlink.Attrs) { a.String(unix.ETHTOOL_A_HEADER_DEV_NAME, ifname) })
	msgs, err := netlink.Generic("ethtool", cmd, append(body, attrs...)) // since Linux 5.6
	if errors.Is(err, unix.ENODEV) {
		return nil, fmt.Errorf("no interface %s in this network namespace: %w", ifname, fs.ErrNotExist)
	}
	return msgs, err
}
