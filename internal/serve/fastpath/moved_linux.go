package fastpath

import (
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// survey notes the links and neighbours that are there: a change is seen by
// what was before.
func (f *follower) survey() error {
	for _, list := range []struct {
		of     string
		kind   netlink.HeaderType
		header int
		note   func(netlink.Message) bool
	}{
		{"links", unix.RTM_GETLINK, ifinfomsg, f.linkChanged},
		{"neighbours", unix.RTM_GETNEIGH, ndmsg, f.neighbourMoved},
	} {
		messages, err := f.rules.route.Execute(netlink.Message{
			Header: netlink.Header{Type: list.kind, Flags: netlink.Request | netlink.Dump},
			Data:   make([]byte, list.header),
		})
		if err != nil {
			return fmt.Errorf("list %s: %w", list.of, err)
		}
		for _, m := range messages {
			list.note(m)
		}
	}
	return nil
}

// Sizes of struct ndmsg and struct ifinfomsg.
const (
	ndmsg     = 12
	ifinfomsg = 16
)

// neighbourMoved reports whether a neighbour has another MAC address than
// before, or none. What only ages has not moved.
func (f *follower) neighbourMoved(m netlink.Message) bool {
	if len(m.Data) < ndmsg {
		return true
	}
	state := uint16(m.Data[8]) | uint16(m.Data[9])<<8
	attributes, err := netlink.UnmarshalAttributes(m.Data[ndmsg:])
	if err != nil {
		return true
	}
	key, mac := string(m.Data[:8]), "" // family and interface
	for _, a := range attributes {
		switch a.Type {
		case unix.NDA_DST:
			key += string(a.Data)
		case unix.NDA_LLADDR:
			mac = string(a.Data)
		}
	}
	if m.Header.Type == unix.RTM_DELNEIGH || state&(unix.NUD_FAILED|unix.NUD_INCOMPLETE) != 0 {
		mac = ""
	}
	before, known := f.neighbours[key]
	if mac == "" {
		delete(f.neighbours, key)
	} else {
		f.neighbours[key] = mac
	}
	return known && before != mac && before != ""
}

// linkChanged reports whether a message of a link tells of more than counters
// and programs: its kind, flags, MTU, MAC address or master are others.
func (f *follower) linkChanged(m netlink.Message) bool {
	const kind, index, flags = 2, 4, 8 // places in struct ifinfomsg
	if len(m.Data) < ifinfomsg || m.Header.Type == unix.RTM_DELLINK {
		return true
	}
	attributes, err := netlink.UnmarshalAttributes(m.Data[ifinfomsg:])
	if err != nil {
		return true
	}
	state := string(m.Data[kind:index]) + string(m.Data[flags:flags+4])
	for _, a := range attributes {
		switch a.Type {
		case unix.IFLA_MTU, unix.IFLA_ADDRESS, unix.IFLA_MASTER, unix.IFLA_LINK, unix.IFLA_OPERSTATE, unix.IFLA_IFNAME:
			state += string(rune(a.Type)) + string(a.Data)
		}
	}
	key := string(m.Data[:1]) + string(m.Data[index:flags]) // bridges tell of their ports in their own family
	before := f.links[key]
	f.links[key] = state
	return before != state
}
