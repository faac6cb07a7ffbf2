package netlink

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// genlHeaderLen is the length of struct genlmsghdr: command, version and two
// reserved bytes.
const genlHeaderLen = 4

// Generic sends one command to a generic netlink family and returns the
// answers without their headers. A kernel without the family gives an error
// that wraps errors.ErrUnsupported.
func Generic(family string, cmd uint8, attrs Attrs) ([]Message, error) {
	c, err := Dial(unix.NETLINK_GENERIC)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	id, err := c.family(family)
	if err != nil {
		return nil, err
	}
	return c.generic(id, cmd, attrs)
}

func (c *Conn) generic(id uint16, cmd uint8, attrs Attrs) ([]Message, error) {
	msgs, err := c.Request(id, 0, append([]byte{cmd, 1, 0, 0}, attrs...))
	for i, m := range msgs {
		msgs[i].Data = m.Data[min(len(m.Data), genlHeaderLen):]
	}
	return msgs, err
}

// family asks the controller for a family's number.
func (c *Conn) family(name string) (uint16, error) {
	var attrs Attrs
	attrs.String(unix.CTRL_ATTR_FAMILY_NAME, name)
	msgs, err := c.generic(unix.GENL_ID_CTRL, unix.CTRL_CMD_GETFAMILY, attrs)
	if errors.Is(err, unix.ENOENT) {
		return 0, fmt.Errorf("kernel without netlink family %s: %w", name, errors.ErrUnsupported)
	}
	if err != nil {
		return 0, fmt.Errorf("netlink family %s: %w", name, err)
	}
	for _, m := range msgs {
		for typ, v := range Attributes(m.Data, binary.NativeEndian) {
			if id, ok := Uint(v, binary.NativeEndian); ok && typ == unix.CTRL_ATTR_FAMILY_ID {
				return uint16(id), nil
			}
		}
	}
	return 0, fmt.Errorf("netlink family %s: no number in the answer: %w", name, ErrMalformed)
}
